import { appliesTo, isSameLimit, type Limit, type TenantPolicy } from './tenant-limits';
import { TokenBucket } from './token-bucket';

/** What a request costs. */
export interface Cost {
  readonly model: string;
  /** Integer >= 0. */
  readonly tokens: number;
}

/** Why there is no room. */
export interface Shortage {
  readonly limit: Limit;
  /** Milliseconds until every limit has room; Infinity when this one never has. */
  readonly waitMs: number;
}

/** The buckets of one tenant, one for each limit of its policy. */
export class TenantBudget {
  private readonly buckets: readonly TokenBucket[];

  /** @param before buckets of limits that are the same are taken over as they stand. */
  constructor(
    readonly policy: TenantPolicy,
    at: number,
    before?: TenantBudget,
  ) {
    this.buckets = policy.limits.map(
      (limit) => before?.bucketOf(limit) ?? new TokenBucket(limit.perMinute, at),
    );
  }

  /** Takes from every limit that is about the model, or from none. */
  take(cost: Cost, at: number): Shortage | undefined {
    const { limits } = this.policy;
    let worst: Shortage | undefined;
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i];
      if (limit === undefined) continue;
      if (!appliesTo(limit, cost.model)) continue;
      const waitMs = this.buckets[i]?.waitFor(amountOf(limit, cost.tokens), at) ?? 0;
      if (waitMs > (worst?.waitMs ?? 0)) worst = { limit, waitMs };
    }
    if (worst === undefined) this.move(cost, 1, at);
    return worst;
  }

  /** Replaces what was taken for `cost` by what was used. */
  settle(cost: Cost, tokens: number, at: number): void {
    this.move({ model: cost.model, tokens: tokens - cost.tokens }, 0, at);
  }

  /** Gives back what was taken for `cost`. */
  refund(cost: Cost, at: number): void {
    this.move({ model: cost.model, tokens: -cost.tokens }, -1, at);
  }

  /** Time from which a new budget would be the same as this one. */
  get fullAt(): number {
    let at = 0;
    for (const bucket of this.buckets) at = Math.max(at, bucket.fullAt);
    return at;
  }

  /** Time from which nothing is owed. */
  get solventAt(): number {
    let at = 0;
    for (const bucket of this.buckets) at = Math.max(at, bucket.solventAt);
    return at;
  }

  private bucketOf(wanted: Limit): TokenBucket | undefined {
    return this.buckets[this.policy.limits.findIndex((limit) => isSameLimit(limit, wanted))];
  }

  private move(cost: Cost, requests: -1 | 0 | 1, at: number): void {
    const { limits } = this.policy;
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i];
      if (limit === undefined) continue;
      if (!appliesTo(limit, cost.model)) continue;
      this.buckets[i]?.take(limit.unit === 'tokens' ? cost.tokens : requests, at);
    }
  }
}

function amountOf(limit: Limit, tokens: number): number {
  return limit.unit === 'tokens' ? tokens : 1;
}
