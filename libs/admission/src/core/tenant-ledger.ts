import { TenantBudget, type Cost, type Shortage } from './tenant-budget';
import { type TenantLimits } from './tenant-limits';

/** Entries looked at, from the longest idle on, when a tenant is new. */
const SWEEP = 4;

type Entries = Map<string, TenantBudget>;

/**
 * The budgets of the tenants seen lately, in bounded memory: addresses of clients are tenants, and
 * there are many of those. What is full again is forgotten without loss. Only when the table is full
 * of tenants that spend is one of them forgotten, the longest idle; those that owe go last, and those
 * that the configuration names or a key proves never make room for a stranger.
 */
export class TenantLedger {
  // Oldest use first, as Map keeps insertion order.
  private readonly solvent: Entries = new Map();
  /** Tenants whose last use left a debt. */
  private readonly indebted: Entries = new Map();
  /** Tenants whose number the operator decides. */
  private readonly kept: Entries = new Map();

  /**
   * @param now milliseconds, monotonic.
   * @param capacity tenants kept at most, beside those the operator has named.
   */
  constructor(
    private limits: TenantLimits,
    private readonly now: () => number,
    private readonly capacity: number,
  ) {}

  get size(): number {
    return this.solvent.size + this.indebted.size + this.kept.size;
  }

  /** Whether anything limits the tenant. */
  limitsTenant(tenant: string): boolean {
    return this.limits.policyOf(tenant) !== undefined;
  }

  /** Takes the cost from the tenant's budget, if every limit has room; says what is short otherwise. */
  take(tenant: string, cost: Cost): Shortage | undefined {
    return this.change(tenant, (budget, at) => budget.take(cost, at));
  }

  /**
   * Replaces what was taken by what was used. By name: a long answer may outlive the tenant's entry,
   * or a reload.
   */
  settle(tenant: string, cost: Cost, tokens: number): void {
    this.change(tenant, (budget, at) => {
      budget.settle(cost, tokens, at);
    });
  }

  /** Gives back what was taken. */
  refund(tenant: string, cost: Cost): void {
    this.change(tenant, (budget, at) => {
      budget.refund(cost, at);
    });
  }

  /** Other limits from now on; one that stays the same keeps its fill. */
  replace(limits: TenantLimits): void {
    this.limits = limits;
    const at = this.time();
    const before = [...this.kept, ...this.solvent, ...this.indebted];
    for (const part of [this.kept, this.solvent, this.indebted]) part.clear();
    for (const [tenant, budget] of before) {
      const policy = limits.policyOf(tenant);
      if (policy === undefined) continue;
      this.file(tenant, new TenantBudget(policy, at, budget), at);
    }
  }

  private change<T>(tenant: string, apply: (budget: TenantBudget, at: number) => T): T | undefined {
    const at = this.time();
    const known = this.solvent.get(tenant) ?? this.kept.get(tenant) ?? this.indebted.get(tenant);
    const budget = known ?? this.open(tenant, at);
    if (budget === undefined) return undefined;
    const result = apply(budget, at);
    if (known !== undefined) this.forget(tenant);
    this.file(tenant, budget, at);
    return result;
  }

  private open(tenant: string, at: number): TenantBudget | undefined {
    const policy = this.limits.policyOf(tenant);
    if (policy === undefined) return undefined;
    this.makeRoom(at);
    return new TenantBudget(policy, at);
  }

  private forget(tenant: string): void {
    if (!this.solvent.delete(tenant) && !this.kept.delete(tenant)) this.indebted.delete(tenant);
  }

  /** Puts the entry last in its line. */
  private file(tenant: string, budget: TenantBudget, at: number): void {
    const isKept = tenant.startsWith('auth:') || this.limits.names(tenant);
    const others = budget.solventAt > at ? this.indebted : this.solvent;
    (isKept ? this.kept : others).set(tenant, budget);
  }

  private makeRoom(at: number): void {
    for (const part of [this.kept, this.indebted, this.solvent]) this.sweep(part, at);
    if (this.solvent.size + this.indebted.size < this.capacity) return;
    const [victim] = this.solvent.size > 0 ? this.solvent.keys() : this.indebted.keys();
    if (victim !== undefined) this.forget(victim);
  }

  /** Drops what is full again; who has paid a debt is solvent. */
  private sweep(part: Entries, at: number): void {
    let looked = 0;
    for (const [tenant, budget] of part) {
      if (looked === SWEEP) return;
      looked += 1;
      const isFull = budget.fullAt <= at;
      // The line of the solvent is in order of use, which an eviction relies on.
      if (!isFull && part === this.solvent) return;
      part.delete(tenant);
      if (!isFull) this.file(tenant, budget, at);
    }
  }

  /** Whole milliseconds: with them the arithmetic of the buckets is exact. */
  private time(): number {
    return Math.floor(this.now());
  }
}
