import { createHolding, linkToTenant, unlinkFromTenant } from './holding';
import { createNode, detach } from './prefix-node';
import { type Holding, type PrefixNode, type Tenant } from './records';
import { UseQueue } from './use-queue';
import { characterKey, commonPrefix, countCharacters } from './utf8';

// A radix tree over UTF-8 that knows which tenants hold a prefix. Edges carry text; a tenant is on
// every node of the paths it inserted, and always on the root. Source: SMG contract, cache_aware.
//
// Removing a tenant is O(1): it is marked dead, and what it held is dropped when a match meets it, or
// swept in slices by `evict`. A node that only dead tenants hold counts as absent.

/** Matches that leave the order of use alone between two that stamp it. */
const MATCHES_PER_STAMP = 8;
/** Holdings dropped per slice of {@link PrefixTree.evict}; 1 to 3 ms on a tree that left the cache. */
const DEFAULT_SLICE = 512;

/** What a lookup found. */
export interface PrefixMatch {
  /** Characters of the text that the tree holds. */
  readonly matchedCharacters: number;
  /** Characters of the text. */
  readonly totalCharacters: number;
  /** Up to the asked number of tenants of the deepest node that was reached. */
  readonly tenants: readonly string[];
}

/** When {@link PrefixTree.evict} stops. */
export interface EvictionLimits {
  /** Characters, summed over tenants, that may stay. */
  readonly maxCharacters: number;
  /** Milliseconds since its last use after which a prefix goes although there is room. */
  readonly maxIdleMs?: number | undefined;
  /** Holdings looked at before returning; bounds the time one call takes. */
  readonly slice?: number;
}

/** Longest-prefix index over text, per tenant, with eviction by size and age. */
export class PrefixTree {
  private readonly root = createNode(Buffer.alloc(0), 0, undefined);
  private readonly tenants = new Map<string, Tenant>();
  private readonly queue = new UseQueue();
  private readonly dead: Tenant[] = [];
  private total = 0;
  private matches = 0;

  /** @param now milliseconds, never going back; only ages are taken from it. */
  constructor(private readonly now: () => number) {}

  /** Characters held, summed over tenants: a shared prefix counts once for each. */
  get size(): number {
    return this.total;
  }

  get tenantCount(): number {
    return this.tenants.size;
  }

  sizeOf(tenant: string): number {
    return this.tenants.get(tenant)?.size ?? 0;
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
    this.root.holdings.delete(known);
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
   * The longest prefix of `text` that is held, and by whom.
   * @param maxTenants length of the answer's `tenants`.
   */
  match(text: Buffer, maxTenants = 8): PrefixMatch {
    let node = this.root;
    let at = 0;
    let matchedCharacters = 0;
    while (at < text.length) {
      const child = this.childOf(node, characterKey(text, at));
      if (child === undefined) break;
      const common = commonPrefix(text, at, child.edge);
      if (common === 0) break;
      node = child;
      at += common;
      if (common < child.edge.length) {
        matchedCharacters += countCharacters(child.edge, 0, common);
        break;
      }
      matchedCharacters += child.characters;
    }
    const tenants: string[] = [];
    for (const holding of node.holdings.values()) {
      if (tenants.length === maxTenants) break;
      if (!holding.tenant.isAlive) continue;
      // A node in use is not the next to go, but a write per match would be wasted.
      if (tenants.length === 0 && ++this.matches % MATCHES_PER_STAMP === 0) this.stamp(holding);
      tenants.push(holding.tenant.name);
    }
    const rest = countCharacters(text, at);
    return { matchedCharacters, totalCharacters: matchedCharacters + rest, tenants };
  }

  /** Records that `tenant` holds `text`; what is kept is copied. */
  insert(text: Buffer, tenant: string): void {
    const owner = this.tenantOf(tenant);
    let node = this.root;
    let at = 0;
    let mark: Holding | undefined;
    while (at < text.length) {
      let next = this.childOf(node, characterKey(text, at));
      if (next === undefined) {
        next = createNode(ownCopy(text, at, text.length), countCharacters(text, at), node);
        node.children.set(characterKey(text, at), next);
      } else {
        const common = commonPrefix(text, at, next.edge);
        // Only bytes that are no UTF-8 share a key and no character; they are not worth keeping.
        if (common === 0) break;
        if (common < next.edge.length) next = this.split(next, common);
      }
      at += next.edge.length;
      mark = this.hold(owner, next, mark);
      node = next;
    }
    if (mark !== undefined) this.stamp(mark);
  }

  /**
   * Drops least recently used leaves until the limits hold, and what dead tenants left behind, but
   * no more than a slice of work.
   * @returns whether it is done; false asks for another call.
   */
  evict(limits: EvictionLimits): boolean {
    let budget = limits.slice ?? DEFAULT_SLICE;
    budget = this.sweep(budget);
    const cutoff = limits.maxIdleMs === undefined ? undefined : this.now() - limits.maxIdleMs;
    for (; budget > 0; budget--) {
      const oldest = this.queue.oldest;
      if (oldest === undefined) break;
      const isExpired = cutoff !== undefined && oldest.stampedAt <= cutoff;
      if (this.total <= limits.maxCharacters && !isExpired) break;
      // Not a leaf yet: it is older than all that stay queued, so it goes as soon as it is one.
      if (oldest.tenant.isAlive && oldest.heldChildren > 0) this.queue.remove(oldest);
      else this.drop(oldest);
    }
    return budget > 0 && this.dead.length === 0;
  }

  private tenantOf(name: string): Tenant {
    let tenant = this.tenants.get(name);
    if (tenant === undefined) {
      tenant = { name, size: 0, isAlive: true, first: undefined };
      this.tenants.set(name, tenant);
      this.root.holdings.set(tenant, createHolding(tenant, this.root));
    }
    return tenant;
  }

  /** The child under `key` that somebody alive holds; one that only the dead hold is taken out. */
  private childOf(node: PrefixNode, key: number): PrefixNode | undefined {
    const child = node.children.get(key);
    if (child === undefined) return undefined;
    for (const tenant of child.holdings.keys()) if (tenant.isAlive) return child;
    detach(child);
    return undefined;
  }

  /** Cuts an edge after `bytes`, a character boundary. @returns the new upper half. */
  private split(lower: PrefixNode, bytes: number): PrefixNode {
    const { edge, parent } = lower;
    const characters = countCharacters(edge, 0, bytes);
    const upper = createNode(ownCopy(edge, 0, bytes), characters, parent);
    parent?.children.set(characterKey(edge, 0), upper);
    lower.edge = ownCopy(edge, bytes, edge.length);
    lower.characters -= characters;
    lower.parent = upper;
    upper.children.set(characterKey(lower.edge, 0), lower);
    for (const below of lower.holdings.values()) {
      if (!below.tenant.isAlive) continue;
      // Same stamp as below, where it is kept in order; here it matters once that one is gone.
      const above = createHolding(below.tenant, upper);
      above.stampedAt = below.stampedAt;
      above.heldChildren = 1;
      upper.holdings.set(below.tenant, above);
      linkToTenant(above);
    }
    return upper;
  }

  /** Puts `tenant` on `node`; `above` is its mark on the parent, undefined below the root. */
  private hold(tenant: Tenant, node: PrefixNode, above: Holding | undefined): Holding {
    const known = node.holdings.get(tenant);
    if (known !== undefined) return known;
    const holding = createHolding(tenant, node);
    node.holdings.set(tenant, holding);
    linkToTenant(holding);
    if (above !== undefined) above.heldChildren++;
    tenant.size += node.characters;
    this.total += node.characters;
    return holding;
  }

  private stamp(holding: Holding): void {
    if (holding.node === this.root) return;
    holding.stampedAt = this.now();
    this.queue.touch(holding);
  }

  /** Takes a holding off its node, its tenant and the queue. */
  private drop(holding: Holding): void {
    const { node, tenant } = holding;
    this.queue.remove(holding);
    unlinkFromTenant(holding);
    node.holdings.delete(tenant);
    const { parent } = node;
    if (tenant.isAlive) {
      tenant.size -= node.characters;
      this.total -= node.characters;
      const above = parent?.holdings.get(tenant);
      if (above !== undefined && parent !== this.root && --above.heldChildren === 0) {
        // Its stamp, if any, is older than every queued one: see `evict` and `split`.
        if (!above.isQueued) this.queue.pushOldest(above);
      }
    }
    if (node.holdings.size === 0) detach(node);
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

/** A copy that shares memory with nobody: slab-allocated Buffers would pin their neighbours. */
function ownCopy(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
