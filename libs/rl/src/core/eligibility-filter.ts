import {
  type CandidateFilter,
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { VERSION_POLICY } from '@smg/protocol';
import { describeDrops, DROP_REASONS, type DropReason, type Eligibility } from './eligibility';
import { type PolicyHeader } from './policy-header';
import { rlErrors } from './rl-error';
import { type VersionPolicy } from './version-policy';

/** Counts what the filter does, once per selection. */
export interface DropCounter {
  /** `count` >= 1 candidates of one selection were dropped for `reason`. */
  onDropped(reason: DropReason, count: number): void;
  /** A selection lost all its candidates. */
  onUnroutable(): void;
}

/** Keeps engines that are paused, asleep or behind away from requests. */
export class EligibilityFilter implements CandidateFilter {
  readonly name = 'rl';
  readonly order = 100;
  /** A refit ends, so it can pass with time. */
  readonly exhaustedCode = 'no_available_workers';

  constructor(
    private readonly eligibility: Eligibility,
    private readonly header: PolicyHeader,
    private readonly counter: DropCounter,
  ) {}

  filter(candidates: readonly WorkerView[], context: SelectionContext): readonly WorkerView[] {
    return this.eligibility.kept(candidates, this.policyOf(context));
  }

  /** Filters run again to explain an empty result; only what narrowed a selection is counted. */
  onNarrowed(
    candidates: readonly WorkerView[],
    kept: readonly WorkerView[],
    context: SelectionContext,
  ): void {
    const { counts } = this.eligibility.eligible(candidates, this.policyOf(context));
    for (const reason of DROP_REASONS) {
      if (counts[reason] > 0) this.counter.onDropped(reason, counts[reason]);
    }
    if (kept.length === 0) this.counter.onUnroutable();
  }

  explain(candidates: readonly WorkerView[], context: SelectionContext): string | undefined {
    return describeDrops(this.eligibility.eligible(candidates, this.policyOf(context)));
  }

  refuse(header: HeaderReader): RequestRefusal | undefined {
    const value = header(VERSION_POLICY);
    if (value === undefined) return undefined;
    const read = this.header.read(value);
    if (read.kind !== 'fault') return undefined;
    const error = rlErrors.invalidVersionPolicy(read.message);
    return { status: error.status, code: error.code, body: JSON.stringify(error.body()) };
  }

  private policyOf(context: SelectionContext): VersionPolicy {
    const read = this.header.read(context.header(VERSION_POLICY));
    // Refused before selection on every route; a caller that skipped that gets no worker by accident.
    if (read.kind === 'fault') throw new TypeError(read.message);
    return read;
  }
}
