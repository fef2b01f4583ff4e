import {
  type AssignmentMode,
  type RoutingPolicy,
  type RoutingPolicyParameters,
  type SelectionContext,
  type SelectionLeg,
  type WorkerView,
} from '@smg/plugin-api';
import { askPolicy } from './ask-policy';
import { assignWorker } from './assignment';
import { type KeyMetrics } from './key-metrics';
import { sweepKeys } from './key-sweep';
import {
  type FindWorker,
  type KeyEntry,
  KeyTable,
  pinFirst,
  pinnedOf,
  pinSecond,
} from './key-table';
import { PROCESS_TIMERS, type Timers } from './timers';

// --routing-key-override: a key stays with the worker that served it, whatever the policy says, unless
// that worker has as many requests of the key as it may have. Source: SMG contract 4.5.

/** Requests in flight of one key on one worker. */
const MAX_IN_FLIGHT = 2;

/** Sticky sessions in front of the policies. */
export class StickyKeys {
  /** One table per leg: keys of different legs never meet. */
  private readonly tables: Readonly<Record<SelectionLeg, KeyTable>>;
  private readonly mode: AssignmentMode;
  private readonly random: () => number;
  private readonly releases: (() => void)[] = [];

  constructor(
    parameters: RoutingPolicyParameters,
    private readonly metrics: KeyMetrics,
    private readonly find: FindWorker,
    timers: Timers = PROCESS_TIMERS,
  ) {
    this.mode = parameters.assignmentMode ?? 'delegate';
    this.random = parameters.random;
    const table = (): KeyTable => {
      const keys = new KeyTable(() => timers.now(), parameters.maxIdleSecs * 1000);
      this.releases.push(sweepKeys(timers, parameters.evictionIntervalSecs, keys));
      this.releases.push(metrics.watch(keys));
      return keys;
    };
    this.tables = { regular: table(), prefill: table(), decode: table() };
  }

  /**
   * @param candidates those that may serve, `avoid` already left out.
   * @param avoid the worker whose transport just failed: its keys are served by a second, and stay its own.
   */
  select(
    policy: RoutingPolicy,
    candidates: readonly WorkerView[],
    context: SelectionContext,
    avoid: WorkerView | undefined,
  ): WorkerView | undefined {
    const { branches, sources } = this.metrics;
    const key = context.affinityKey();
    if (key === undefined) {
      branches.count('no_routing_id');
      return askPolicy(policy, candidates, context);
    }
    const source = context.affinitySource?.();
    if (source !== undefined) sources.count(source);
    const table = this.tables[context.leg];
    const entry = table.use(key);
    if (entry === undefined) {
      branches.count('vacant');
      const picked = this.choose(policy, candidates, context);
      if (picked !== undefined) table.add(key, picked);
      return picked;
    }
    if (avoid !== undefined && entry.pins[0] === avoid.url) {
      branches.count('occupied_miss');
      const second = pinnedOf(entry, candidates, this.find);
      if (second !== undefined) return second;
      const picked = this.choose(policy, candidates, context);
      if (picked !== undefined) pinSecond(entry, picked);
      return picked;
    }
    const pinned = pinnedOf(entry, candidates, this.find);
    if (pinned !== undefined && pinned.requestsOf(key) < MAX_IN_FLIGHT) {
      branches.count('occupied_hit');
      return pinned;
    }
    branches.count(pinned === undefined ? 'occupied_miss' : 'cap_respill');
    const picked = this.choose(policy, candidates, context);
    if (picked !== undefined) repin(entry, pinned, picked);
    return picked;
  }

  /** A conversation is over. */
  forgetKey(key: string): void {
    const { regular, prefill, decode } = this.tables;
    regular.forget(key);
    prefill.forget(key);
    decode.forget(key);
  }

  dispose(): void {
    for (const release of this.releases) release();
  }

  private choose(
    policy: RoutingPolicy,
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): WorkerView | undefined {
    return this.mode === 'delegate'
      ? askPolicy(policy, candidates, context)
      : assignWorker(this.mode, candidates, this.random);
  }
}

/** A key that only spilled moves for good when its new worker has room for it. */
function repin(entry: KeyEntry, pinned: WorkerView | undefined, picked: WorkerView): void {
  const hasRoom = picked !== pinned && picked.requestsOf(entry.key) < MAX_IN_FLIGHT;
  if (pinned === undefined || hasRoom) pinFirst(entry, picked);
}
