import { type WorkerView } from '@smg/plugin-api';
import { BoundedCache } from './bounded-cache';
import { type EngineState } from './engine-state';
import { type VersionPolicy } from './version-policy';
import { type VersionTable } from './version-table';
import {
  compareVersions,
  equalVersions,
  type MixedComparison,
  type WeightVersion,
} from './weight-version';

/** Why a candidate may not serve. */
export const DROP_REASONS = ['paused', 'asleep', 'stale', 'unversioned'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** Who of the candidates may serve. Frozen, and shared between selections. */
export interface Eligible {
  /** The array that was given when nobody is dropped, else the survivors in order. */
  readonly kept: readonly WorkerView[];
  readonly counts: Readonly<Record<DropReason, number>>;
  /** What the stale ones were measured against: `latest 42`, `minimum 8`; undefined when none is stale. */
  readonly measure: string | undefined;
}

/** Policies remembered for one candidate array; one that clients vary only costs the looking again. */
const POLICIES_PER_POOL = 32;

/** Characters of a client's version that a message repeats. */
const SHOWN = 128;

/** Decisions about one candidate array, good for one epoch of the table. */
interface Snapshot {
  epoch: number;
  readonly byPolicy: BoundedCache<VersionPolicy, Eligible>;
}

/**
 * Decides who may serve under a version policy. Source: SMG RL contract 5.2.
 *
 * Nothing is decided twice: a decision is kept under (candidate array, policy, epoch of the table).
 * Arrays that are not frozen are decided anew each time, because their content may change under
 * their identity.
 */
export class Eligibility {
  readonly #table: VersionTable;
  readonly #snapshots = new WeakMap<readonly WorkerView[], Snapshot>();
  readonly #onMixed: MixedComparison;
  #mixedSeen = false;

  // The decision that was asked for last: one model and one policy is the common fleet.
  #lastCandidates: readonly WorkerView[] | undefined;
  #lastPolicy: VersionPolicy | undefined;
  #lastEpoch = -1;
  #last: Eligible = Object.freeze({ kept: [], counts: NONE, measure: undefined });

  /** @param onMixed called the first time a number is ordered against text, and never again. */
  constructor(table: VersionTable, onMixed: MixedComparison = () => undefined) {
    this.#table = table;
    this.#onMixed = (a, b) => {
      if (this.#mixedSeen) return;
      this.#mixedSeen = true;
      onMixed(a, b);
    };
  }

  /** Those who may serve; the same array when nobody is dropped. */
  kept(candidates: readonly WorkerView[], policy: VersionPolicy): readonly WorkerView[] {
    if (policy.kind === 'any' && this.#table.inactiveCount === 0) return candidates;
    return this.eligible(candidates, policy).kept;
  }

  /** The whole decision, with counts. */
  eligible(candidates: readonly WorkerView[], policy: VersionPolicy): Eligible {
    const { epoch } = this.#table;
    if (
      candidates === this.#lastCandidates &&
      policy === this.#lastPolicy &&
      epoch === this.#lastEpoch
    ) {
      return this.#last;
    }
    return this.#lookUp(candidates, policy, epoch);
  }

  #lookUp(candidates: readonly WorkerView[], policy: VersionPolicy, epoch: number): Eligible {
    if (!Object.isFrozen(candidates)) return this.#decide(candidates, policy);
    let snapshot = this.#snapshots.get(candidates);
    if (snapshot === undefined) {
      snapshot = { epoch, byPolicy: new BoundedCache(POLICIES_PER_POOL) };
      this.#snapshots.set(candidates, snapshot);
    } else if (snapshot.epoch !== epoch) {
      snapshot.byPolicy.clear();
      snapshot.epoch = epoch;
    }
    let eligible = snapshot.byPolicy.get(policy);
    if (eligible === undefined) {
      eligible = this.#decide(candidates, policy);
      snapshot.byPolicy.set(policy, eligible);
    }
    this.#lastCandidates = candidates;
    this.#lastPolicy = policy;
    this.#lastEpoch = epoch;
    this.#last = eligible;
    return eligible;
  }

  #decide(candidates: readonly WorkerView[], policy: VersionPolicy): Eligible {
    const counts = { ...NONE };
    const measures = new Set<string>();
    let kept: WorkerView[] | undefined;
    // Candidates of a pool mostly serve one model.
    let model: string | undefined;
    let latest: WeightVersion | undefined;
    for (let at = 0; at < candidates.length; at++) {
      const worker = candidates[at];
      if (worker === undefined) continue;
      const state = this.#table.get(worker.baseUrl);
      if (worker.modelId !== model) {
        model = worker.modelId;
        latest = this.#table.latest(model);
      }
      const reason = this.#judge(state, latest, policy);
      if (reason === undefined) {
        kept?.push(worker);
        continue;
      }
      kept ??= candidates.slice(0, at);
      counts[reason]++;
      if (reason === 'stale') measures.add(measureOf(policy, latest));
    }
    return Object.freeze({
      kept: kept === undefined ? candidates : Object.freeze(kept),
      counts: Object.freeze(counts),
      // Candidates of several models have no one latest version.
      measure: measures.size === 1 ? [...measures][0] : undefined,
    });
  }

  #judge(
    state: EngineState | undefined,
    latest: WeightVersion | undefined,
    policy: VersionPolicy,
  ): DropReason | undefined {
    // An engine nobody has told of is active and has no version.
    if (state !== undefined && state.control !== 'active') return state.control;
    // Where nobody has a version there is nothing to be behind of.
    if (policy.kind === 'any' || (policy.kind !== 'min-version' && latest === undefined)) {
      return undefined;
    }
    const version = state?.version;
    if (version === undefined) return 'unversioned';
    return this.#isFresh(version, latest, policy) ? undefined : 'stale';
  }

  #isFresh(
    version: WeightVersion,
    latest: WeightVersion | undefined,
    policy: Exclude<VersionPolicy, { kind: 'any' }>,
  ): boolean {
    switch (policy.kind) {
      case 'latest-only':
        return equalVersions(version, latest);
      case 'max-staleness':
        return isWithin(version, latest, policy.distance);
      case 'min-version':
        return compareVersions(version, policy.floor, this.#onMixed) >= 0;
    }
  }
}

const NONE: Readonly<Record<DropReason, number>> = Object.freeze({
  paused: 0,
  asleep: 0,
  stale: 0,
  unversioned: 0,
});

/** Text has no distance: only numbers can be near each other. */
function isWithin(
  version: WeightVersion,
  latest: WeightVersion | undefined,
  distance: bigint,
): boolean {
  if (version.number === undefined || latest?.number === undefined) return false;
  return latest.number - version.number <= distance;
}

function measureOf(policy: VersionPolicy, latest: WeightVersion | undefined): string {
  if (policy.kind === 'min-version') return `minimum ${policy.floor.text.slice(0, SHOWN)}`;
  const text = latest?.text ?? 'unknown';
  return policy.kind === 'max-staleness' && latest?.number === undefined
    ? `latest ${text}, which is no number`
    : `latest ${text}`;
}

/** How many were dropped and why: `2 paused, 1 stale (latest 42)`; undefined when nobody was. */
export function describeDrops(eligible: Eligible): string | undefined {
  const parts: string[] = [];
  for (const reason of DROP_REASONS) {
    const count = eligible.counts[reason];
    if (count === 0) continue;
    const measured = reason === 'stale' && eligible.measure !== undefined;
    parts.push(`${count} ${reason}${measured ? ` (${eligible.measure})` : ''}`);
  }
  return parts.length === 0 ? undefined : parts.join(', ');
}
