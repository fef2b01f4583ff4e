import {
  type AssignmentMode,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { assignWorker } from './assignment';
import { type KeyMetrics } from './key-metrics';
import { sweepKeys } from './key-sweep';
import { type FindWorker, KeyTable, pinLast, pinnedOf } from './key-table';
import { headerKeyOf } from './routing-key';
import { ScanCopy } from './scan-copy';
import { PROCESS_TIMERS, type Timers } from './timers';

/**
 * manual: the client's key, in `x-smg-routing-key`, stays with the worker it was given. While that one
 * cannot serve, the key has a second; when the first is back, it is the first's again.
 * Source: SMG contract, manual.
 */
export class ManualPolicy implements RoutingPolicy {
  readonly name = 'manual';
  readonly readsBody = false;
  readonly ownsAffinity = true;
  private readonly mode: AssignmentMode;
  private readonly random: () => number;
  private readonly keys: KeyTable;
  private readonly members = new Map<string, WorkerView>();
  private readonly find: FindWorker = (url) => this.members.get(url);
  private readonly scan = new ScanCopy();
  private readonly releases: readonly (() => void)[];

  constructor(
    parameters: RoutingPolicyParameters,
    private readonly metrics: KeyMetrics,
    timers: Timers = PROCESS_TIMERS,
  ) {
    this.mode = parameters.assignmentMode ?? 'random';
    this.random = parameters.random;
    this.keys = new KeyTable(() => timers.now(), parameters.maxIdleSecs * 1000);
    this.releases = [
      sweepKeys(timers, parameters.evictionIntervalSecs, this.keys),
      metrics.watch(this.keys),
    ];
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const { branches } = this.metrics;
    // Asked for so that the request counts under its key at its worker; see `SelectionContext`.
    if (this.mode === 'min_group') context.affinityKey();
    const key = headerKeyOf(context);
    if (key === undefined) {
      branches.count('no_routing_id');
      return this.assign(candidates);
    }
    const entry = this.keys.use(key);
    if (entry === undefined) {
      branches.count('vacant');
      const picked = this.assign(candidates);
      if (picked !== undefined) this.keys.add(key, picked);
      return picked;
    }
    const pinned = pinnedOf(entry, candidates, this.find);
    if (pinned !== undefined) {
      branches.count('occupied_hit');
      return pinned;
    }
    branches.count('occupied_miss');
    const picked = this.assign(candidates);
    if (picked !== undefined) pinLast(entry, picked);
    return picked;
  }

  onNobody(): void {
    this.metrics.branches.count('no_healthy_workers');
  }

  addWorker(worker: WorkerView): void {
    this.members.set(worker.url, worker);
  }

  /** Keys stay with the URL: a worker that comes back has them again. */
  removeWorker(worker: WorkerView): void {
    this.members.delete(worker.url);
    this.scan.drop();
  }

  forgetKey(key: string): void {
    this.keys.forget(key);
  }

  dispose(): void {
    for (const release of this.releases) release();
  }

  private assign(candidates: readonly WorkerView[]): WorkerView | undefined {
    return assignWorker(this.mode, this.scan.of(candidates), this.random);
  }
}

/** `--policy manual` */
export class ManualFactory implements RoutingPolicyFactory {
  readonly name = 'manual';

  constructor(private readonly metrics: KeyMetrics) {}

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new ManualPolicy(parameters, this.metrics);
  }
}
