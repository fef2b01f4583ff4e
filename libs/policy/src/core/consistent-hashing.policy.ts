import {
  type Metrics,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { type Hashes, moduloOf } from '@smg/kv-index';
import { BranchCounter } from './branch-counter';
import { ModelRings } from './model-rings';
import { headerKeyOf, isAsciiText } from './routing-key';
import { anyOf } from './worker-list';

/** Headers that tell clients apart where nobody gave a key; the first that is present counts. */
const IMPLICIT_KEYS = ['authorization', 'x-forwarded-for', 'cookie'] as const;

/** What decided. */
export type HashingBranch =
  | 'no_healthy_workers'
  | 'target_worker_hit'
  | 'target_worker_miss'
  | 'routing_key_hit'
  | 'random_fallback';

/** `smg_consistent_hashing_policy_branch_total` */
export function hashingBranches(metrics: Metrics): BranchCounter<HashingBranch> {
  return new BranchCounter(
    metrics,
    'smg_consistent_hashing_policy_branch_total',
    'Requests of the consistent_hashing policy, by what decided',
  );
}

/**
 * consistent_hashing: a key always belongs to the same worker of the ring, and to the next one while
 * that cannot serve; a worker that comes or goes moves no keys but its own.
 * Source: SMG contract, consistent_hashing.
 */
export class ConsistentHashingPolicy implements RoutingPolicy {
  readonly name = 'consistent_hashing';
  readonly readsBody = false;
  readonly honoursTargetWorker = true;
  readonly ownsAffinity = true;
  private readonly rings: ModelRings;

  /** @param random uniform in [0, 1). */
  constructor(
    private readonly random: () => number,
    private readonly hashes: Hashes,
    private readonly branches: BranchCounter<HashingBranch>,
  ) {
    this.rings = new ModelRings(hashes);
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const key = context.routingKey() ?? headerKeyOf(context) ?? implicitKeyOf(context);
    if (key === undefined) {
      this.branches.count('random_fallback');
      return anyOf(candidates, this.random);
    }
    this.branches.count('routing_key_hit');
    return this.rings.ownerOf(context.model, key, candidates) ?? this.withoutRing(key, candidates);
  }

  onTargetWorker(isServed: boolean): void {
    this.branches.count(isServed ? 'target_worker_hit' : 'target_worker_miss');
  }

  onNobody(): void {
    this.branches.count('no_healthy_workers');
  }

  addWorker(worker: WorkerView): void {
    this.rings.add(worker);
  }

  removeWorker(worker: WorkerView): void {
    this.rings.remove(worker);
  }

  private withoutRing(key: string, candidates: readonly WorkerView[]): WorkerView | undefined {
    return candidates[moduloOf(this.hashes.blake3Prefix64(key), candidates.length)];
  }
}

function implicitKeyOf(context: SelectionContext): string | undefined {
  for (const name of IMPLICIT_KEYS) {
    const value = context.header(name);
    if (value === undefined) continue;
    return value !== '' && isAsciiText(value) ? value : undefined;
  }
  return undefined;
}

/** `--policy consistent_hashing` */
export class ConsistentHashingFactory implements RoutingPolicyFactory {
  readonly name = 'consistent_hashing';

  constructor(
    private readonly hashes: Hashes,
    private readonly branches: BranchCounter<HashingBranch>,
  ) {}

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new ConsistentHashingPolicy(parameters.random, this.hashes, this.branches);
  }
}
