import { EdgeStore } from './edge-store';
import { type EvictionLimits, maxHoldingsOf } from './eviction-limits';
import {
  addHolding,
  holdingOf,
  isHeld,
  linkToTenant,
  removeHolding,
  unlinkFromTenant,
} from './holding';
import { type Holding, type Tenant, type TreeNode } from './records';
import { attach, createNode, detach } from './tree-node';
import { type Units } from './units';
import { UseQueue } from './use-queue';

// A radix tree over bytes that knows which tenants hold a prefix. Edges carry whole units; a tenant
// is on every node of the paths it inserted, and always on the root. Source: SMG contract, cache_aware.
//
// Removing a tenant is O(1): it is marked dead, and what it held is dropped when a match meets it, or
// swept in slices by `evict`. A node that only dead tenants hold counts as absent.

/** Matches that leave the order of use alone between two that stamp it. */
const MATCHES_PER_STAMP = 8;
/** Holdings dropped per slice of {@link TenantTree.evict}; 1 to 3 ms on a tree that left the cache. */
const DEFAULT_SLICE = 512;
/** Holdings dropped by {@link TenantTree.relieve} at least, when it drops any. */
const RELIEF_SLICE = 64;
/** How far inserts may take a tree over its limits before they evict too. */
const HEADROOM = 1.25;
/** Nodes that a call follows downwards: what lies deeper is not found, and not kept. */
const MAX_DEPTH = 512;

/** How far a text is known. */
export interface Descent {
  /** Bytes of the text that the tree holds. */
  readonly bytes: number;
  /** The same in the unit that sizes count. */
  readonly length: number;
  /** Tenants of the deepest node that was reached. */
  readonly tenants: readonly string[];
}

/** What text trees and token trees have in common; they differ in the units of a path. */
export abstract class TenantTree {
  private readonly root = createNode(0, 0, undefined);
  private readonly edges = new EdgeStore();
  private readonly tenants = new Map<string, Tenant>();
  private readonly queue = new UseQueue();
  private readonly dead: Tenant[] = [];
  private total = 0;
  private held = 0;
  private matches = 0;
  /** What was recorded since the last {@link relieve}. */
  private addedHoldings = 0;
  private addedLength = 0;

  /** @param now milliseconds, never going back; only ages are taken from it. */
  protected constructor(
    private readonly now: () => number,
    private readonly units: Units,
  ) {}

  /** Characters or tokens held, summed over tenants: a shared prefix counts once for each. */
  get size(): number {
    return this.total;
  }

  /** Marks of tenants on edges, those that wait to be swept included: what memory grows with. */
  get holdingCount(): number {
    return this.held;
  }

  get tenantCount(): number {
    return this.tenants.size;
  }

  sizeOf(tenant: string): number {
    return this.tenants.get(tenant)?.size ?? 0;
  }

  /** Share of the limits that is taken, by size or by number; above 1, `evict` has work. */
  fullness(limits: EvictionLimits): number {
    return Math.max(
      this.total / Math.max(1, limits.maxCharacters),
      this.held / maxHoldingsOf(limits),
    );
  }

  /**
   * For owners to call after each insert: does nothing until the tree is a quarter over its limits,
   * then drops about twice what the insert brought. Between timed evictions this bounds the tree, by
   * less than twice its limits whatever is inserted, at a cost in proportion to the insert.
   */
  relieve(limits: EvictionLimits): void {
    // As many holdings as the tree may have for the length that was added.
    const share = (this.addedLength / Math.max(1, limits.maxCharacters)) * maxHoldingsOf(limits);
    const brought = Math.max(this.addedHoldings, share);
    this.addedHoldings = 0;
    this.addedLength = 0;
    if (this.fullness(limits) <= HEADROOM) return;
    this.drain(limits, Math.max(RELIEF_SLICE, Math.ceil(2 * brought)));
  }

  /** Makes `tenant` known: it holds the empty prefix. */
  addTenant(tenant: string): void {
    this.tenantOf(tenant);
  }

  /** Forgets a tenant and everything it held. */
  removeTenant(tenant: string): void {
    const known = this.tenants.get(tenant);
    if (known === undefined) return;
    this.tenants.delete(tenant);
    const atRoot = holdingOf(this.root, known);
    if (atRoot !== undefined) removeHolding(atRoot);
    known.isAlive = false;
    this.total -= known.size;
    if (known.first !== undefined) this.dead.push(known);
  }

  /** Drops a tenant's prefixes; it goes on as one that holds the empty prefix. */
  resetTenant(tenant: string): void {
    if (!this.tenants.has(tenant)) return;
    this.removeTenant(tenant);
    this.tenantOf(tenant);
  }

  /**
   * Drops least recently used leaves until the limits hold, and what dead tenants left behind, but
   * no more than a slice of work.
   * @returns whether it is done; false asks for another call.
   */
  evict(limits: EvictionLimits): boolean {
    return this.drain(limits, limits.slice ?? DEFAULT_SLICE);
  }

  /** Follows `text` down the tree. */
  protected descend(text: Buffer, maxTenants: number): Descent {
    let node = this.root;
    let bytes = 0;
    let length = 0;
    for (let depth = 0; bytes < text.length && depth < MAX_DEPTH; depth++) {
      const child = this.childOf(node, this.units.keyAt(text, bytes, text.length));
      if (child === undefined) break;
      const common = this.units.commonPrefix(text, bytes, child);
      if (common === 0) break;
      node = child;
      bytes += common;
      if (common < child.size) {
        length += this.units.lengthOf(child.chunk.bytes, child.start, child.start + common);
        break;
      }
      length += child.length;
    }
    return { bytes, length, tenants: this.holdersOf(node, maxTenants) };
  }

  /** Records that `name` holds `text`; what is kept is copied. */
  protected record(text: Buffer, name: string): void {
    const owner = this.tenantOf(name);
    let node = this.root;
    let at = 0;
    let mark: Holding | undefined;
    for (let depth = 0; at < text.length && depth < MAX_DEPTH; depth++) {
      const key = this.units.keyAt(text, at, text.length);
      let next = this.childOf(node, key);
      if (next === undefined) {
        const length = this.units.lengthOf(text, at, text.length);
        next = createNode(length, key, node);
        this.edges.put(next, text, at, text.length);
        attach(next);
      } else {
        const common = this.units.commonPrefix(text, at, next);
        // Units that share a key and nothing else: see `Units`.
        if (common === 0) break;
        if (common < next.size) next = this.split(next, common);
      }
      at += next.size;
      mark = this.hold(owner, next, mark);
      node = next;
    }
    if (mark !== undefined) this.stamp(mark);
  }

  private tenantOf(name: string): Tenant {
    let tenant = this.tenants.get(name);
    if (tenant === undefined) {
      tenant = { name, size: 0, isAlive: true, first: undefined };
      this.tenants.set(name, tenant);
      addHolding(this.root, tenant);
    }
    return tenant;
  }

  private holdersOf(node: TreeNode, maxTenants: number): string[] {
    const tenants: string[] = [];
    for (const holding of node.holdings) {
      if (tenants.length === maxTenants) break;
      if (!holding.tenant.isAlive) continue;
      // A node in use is not the next to go, but a write per match would be wasted.
      if (tenants.length === 0 && ++this.matches % MATCHES_PER_STAMP === 0) this.stamp(holding);
      tenants.push(holding.tenant.name);
    }
    return tenants;
  }

  /** The child under `key` that somebody alive holds; one that only the dead hold is taken out. */
  private childOf(node: TreeNode, key: number): TreeNode | undefined {
    const child = node.children?.get(key);
    if (child === undefined || isHeld(child)) return child;
    detach(child);
    return undefined;
  }

  /** Cuts an edge after `bytes`, whole units. @returns the new upper half. */
  private split(lower: TreeNode, bytes: number): TreeNode {
    const { chunk, start } = lower;
    const length = this.units.lengthOf(chunk.bytes, start, start + bytes);
    const upper = createNode(length, lower.key, lower.parent);
    this.edges.cut(lower, bytes, upper);
    attach(upper);
    lower.length -= length;
    lower.key = this.units.keyAt(chunk.bytes, lower.start, lower.start + lower.size);
    lower.parent = upper;
    attach(lower);
    for (const below of lower.holdings) {
      if (!below.tenant.isAlive) continue;
      // Same stamp as below, where it is kept in order; here it matters once that one is gone.
      const above = addHolding(upper, below.tenant);
      above.stampedAt = below.stampedAt;
      above.heldChildren = 1;
      linkToTenant(above);
      this.held++;
      this.addedHoldings++;
    }
    return upper;
  }

  /** Puts `tenant` on `node`; `above` is its mark on the parent, undefined below the root. */
  private hold(tenant: Tenant, node: TreeNode, above: Holding | undefined): Holding {
    const known = holdingOf(node, tenant);
    if (known !== undefined) return known;
    const holding = addHolding(node, tenant);
    linkToTenant(holding);
    if (above !== undefined) above.heldChildren++;
    tenant.size += node.length;
    this.total += node.length;
    this.held++;
    this.addedHoldings++;
    this.addedLength += node.length;
    return holding;
  }

  private stamp(holding: Holding): void {
    if (holding.node === this.root) return;
    // A whole number: a fraction would be an object of its own.
    holding.stampedAt = Math.floor(this.now());
    this.queue.touch(holding);
  }

  /** Takes a holding off its node, its tenant and the queue. */
  private drop(holding: Holding): void {
    const { node, tenant } = holding;
    this.queue.remove(holding);
    unlinkFromTenant(holding);
    removeHolding(holding);
    this.held--;
    const { parent } = node;
    if (tenant.isAlive) {
      tenant.size -= node.length;
      this.total -= node.length;
      if (parent !== undefined && parent !== this.root) this.releaseAbove(parent, tenant);
    }
    if (node.holdings.length > 0) return;
    detach(node);
    this.edges.remove(node);
  }

  /** The tenant left a child of `node`; its mark there may be its leaf now. */
  private releaseAbove(node: TreeNode, tenant: Tenant): void {
    const above = holdingOf(node, tenant);
    if (above === undefined || --above.heldChildren > 0) return;
    // Its stamp, if any, is older than every queued one: see `evict` and `split`.
    if (!above.isQueued) this.queue.pushOldest(above);
  }

  private drain(limits: EvictionLimits, slice: number): boolean {
    let budget = this.sweep(slice);
    const cutoff = limits.maxIdleMs === undefined ? undefined : this.now() - limits.maxIdleMs;
    const maxHoldings = maxHoldingsOf(limits);
    for (; budget > 0; budget--) {
      const oldest = this.queue.oldest;
      if (oldest === undefined) break;
      const isExpired = cutoff !== undefined && oldest.stampedAt <= cutoff;
      const isFull = this.total > limits.maxCharacters || this.held > maxHoldings;
      if (!isFull && !isExpired) break;
      // Not a leaf yet: it is older than all that stay queued, so it goes as soon as it is one.
      if (oldest.tenant.isAlive && oldest.heldChildren > 0) this.queue.remove(oldest);
      else this.drop(oldest);
    }
    return budget > 0 && this.dead.length === 0;
  }

  /** Drops what dead tenants held. @returns the budget that is left. */
  private sweep(budget: number): number {
    for (let left = budget; ; left--) {
      const tenant = this.dead.at(-1);
      if (tenant === undefined) return left;
      if (tenant.first === undefined) this.dead.pop();
      else if (left <= 0) return 0;
      else this.drop(tenant.first);
    }
  }
}
