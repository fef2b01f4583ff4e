import { type CandidateFilter, type SelectionContext, type WorkerView } from '@smg/plugin-api';
import { BoundedCache } from './bounded-cache';

// The worker filter header: comma-separated `key=value`, every pair must equal a worker's label.
// Source: SMG contract, worker filters. The directory hands out a new array whenever a worker's
// labels change, so the survivors of a large frozen array can be kept under its identity.

type Requirement = readonly (readonly [key: string, value: string])[];

const NO_REQUIREMENT: Requirement = Object.freeze([]);
/** Distinct header values remembered; a client that varies its header only costs itself parsing. */
const REMEMBERED = 256;
/** Longer values are parsed each time, so what a client sends cannot fill memory. */
const REMEMBERED_LENGTH = 512;
/** Candidates from which looking survivors up is cheaper than comparing labels. */
const MEMOISED_SIZE = 32;
/** Distinct requirements remembered per candidate array. */
const MEMOISED_REQUIREMENTS = 64;
/** What an HTTP field value in ASCII is made of. */
const ASCII_VALUE = /^[\t\x20-\x7e]*$/;

/** Reads a header value. Pieces without `=` or with an empty key say nothing. */
function parseRequirement(value: string): Requirement {
  if (!ASCII_VALUE.test(value)) return NO_REQUIREMENT;
  const pairs: [string, string][] = [];
  for (const piece of value.split(',')) {
    const at = piece.indexOf('=');
    if (at < 0) continue;
    const key = piece.slice(0, at).trim();
    if (key !== '') pairs.push([key, piece.slice(at + 1).trim()]);
  }
  return pairs;
}

function holds(worker: WorkerView, requirement: Requirement): boolean {
  for (const pair of requirement) {
    if (worker.labels.get(pair[0]) !== pair[1]) return false;
  }
  return true;
}

/** Keeps the workers whose labels hold every pair of the worker filter header. */
export class LabelFilter implements CandidateFilter {
  readonly name = 'label';
  readonly order = 200;
  readonly exhaustedCode = 'workers_filtered';
  private readonly parsed = new BoundedCache<string, Requirement>(REMEMBERED);
  private readonly survivors = new WeakMap<
    readonly WorkerView[],
    BoundedCache<Requirement, readonly WorkerView[]>
  >();

  /** @param header name of the request header, lower case. */
  constructor(private readonly header: string) {}

  filter(candidates: readonly WorkerView[], context: SelectionContext): readonly WorkerView[] {
    const requirement = this.requirementOf(context);
    if (requirement.length === 0) return candidates;
    if (candidates.length < MEMOISED_SIZE || !Object.isFrozen(candidates)) {
      return this.narrow(candidates, requirement);
    }
    let memo = this.survivors.get(candidates);
    if (memo === undefined) {
      memo = new BoundedCache(MEMOISED_REQUIREMENTS);
      this.survivors.set(candidates, memo);
    }
    let kept = memo.get(requirement);
    if (kept === undefined) {
      kept = Object.freeze(this.narrow(candidates, requirement));
      memo.set(requirement, kept);
    }
    return kept;
  }

  private narrow(
    candidates: readonly WorkerView[],
    requirement: Requirement,
  ): readonly WorkerView[] {
    let kept: WorkerView[] | undefined;
    for (let i = 0; i < candidates.length; i++) {
      const worker = candidates[i];
      if (worker === undefined) continue;
      if (holds(worker, requirement)) kept?.push(worker);
      else kept ??= candidates.slice(0, i);
    }
    return kept ?? candidates;
  }

  explain(candidates: readonly WorkerView[], context: SelectionContext): string {
    const kept = this.filter(candidates, context).length;
    return `${candidates.length - kept} without the labels asked for in ${this.header}`;
  }

  private requirementOf(context: SelectionContext): Requirement {
    const value = context.header(this.header);
    if (value === undefined) return NO_REQUIREMENT;
    const known = this.parsed.get(value);
    if (known !== undefined) return known;
    const requirement = parseRequirement(value);
    if (value.length <= REMEMBERED_LENGTH) this.parsed.set(value, requirement);
    return requirement;
  }
}
