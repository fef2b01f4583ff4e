/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are in range by construction; a fallback would hide a fault */
import { type Hash64 } from './hash64';

// Who was sent a prompt that began with these tokens: the beginning is known by its length, one of a
// few boundaries, and its xxh3. Source: SMG contract, cache_aware with a hash index.
//
// Everything lives in typed arrays that are allocated once, so memory and the time of a call are
// bounded whatever is inserted. Pages of an array that were never written cost no memory.

/** Holders kept per entry; another one replaces the stalest. */
const HOLDERS = 3;
/** Some 75 bytes each: 19 MiB when full. */
const DEFAULT_MAX_ENTRIES = 262_144;
/** "No slot" and "no tenant". */
const NONE = 0;
const NOBODY: readonly string[] = Object.freeze([]);

/** The first `boundary` tokens of a request, by hash. */
export interface BoundaryHash {
  readonly boundary: number;
  readonly hash: Hash64;
}

export interface HashIndexOptions {
  /** Milliseconds since its last touch after which a holder is forgotten. */
  readonly ttlMs: number;
  /** Entries that are kept; beyond, the least recently touched goes. */
  readonly maxEntries?: number;
  /** Keys the buckets, so that nobody can aim at one; uniform in 0..1. */
  readonly random?: () => number;
}

/**
 * Boundary and hash → up to three holders; bounded, with time to live. It has no timer of its own. One
 * index may serve several owners, models say: each has a space, a number, and entries of two spaces
 * never meet.
 */
export class HashIndex {
  private readonly ttlMs: number;
  private readonly maxEntries: number;
  private readonly shift: number;
  private readonly keys: readonly [number, number, number];
  /** First slot of each bucket. */
  private readonly buckets: Uint32Array;
  // By slot; slot 0 is no slot.
  private readonly high: Uint32Array;
  private readonly low: Uint32Array;
  private readonly boundary: Uint32Array;
  private readonly space: Uint32Array;
  /** Next slot of the bucket, or of the free list. */
  private readonly next: Uint32Array;
  private readonly older: Uint32Array;
  private readonly newer: Uint32Array;
  /** Tenant numbers, {@link HOLDERS} a slot, and when each was touched. */
  private readonly holder: Uint32Array;
  private readonly touchedAt: Float64Array;
  private oldest = NONE;
  private newest = NONE;
  private firstFree = NONE;
  /** Slots that were ever in use. */
  private used = 0;
  private count = 0;
  /** A number is never given twice: entries of a removed tenant are void, and nobody looks for them. */
  private readonly numbers = new Map<string, number>();
  /** Entries by space, where there are any. */
  private readonly counts = new Map<number, number>();
  private readonly names = new Map<number, string>();
  private lastNumber = NONE;

  /** @param now milliseconds, never going back. */
  constructor(
    private readonly now: () => number,
    options: HashIndexOptions,
  ) {
    const { ttlMs, maxEntries = DEFAULT_MAX_ENTRIES, random = Math.random } = options;
    this.ttlMs = ttlMs;
    this.maxEntries = maxEntries;
    const bits = Math.max(1, Math.ceil(Math.log2(maxEntries)));
    this.shift = 32 - bits;
    const oddNumber = () => (Math.floor(random() * 4_294_967_296) | 1) >>> 0;
    this.keys = [oddNumber(), oddNumber(), oddNumber()];
    this.buckets = new Uint32Array(2 ** bits);
    const slots = maxEntries + 1;
    this.high = new Uint32Array(slots);
    this.low = new Uint32Array(slots);
    this.boundary = new Uint32Array(slots);
    this.space = new Uint32Array(slots);
    this.next = new Uint32Array(slots);
    this.older = new Uint32Array(slots);
    this.newer = new Uint32Array(slots);
    this.holder = new Uint32Array(slots * HOLDERS);
    this.touchedAt = new Float64Array(slots * HOLDERS);
  }

  /** Entries held, those included that only removed tenants hold. */
  get size(): number {
    return this.count;
  }

  /** The same of one space. */
  sizeOf(space: number): number {
    return this.counts.get(space) ?? 0;
  }

  /** Who holds the beginning and was touched within the time to live; at most three. */
  holders(boundary: number, hash: Hash64, space = 0): readonly string[] {
    const slot = this.find(boundary, hash, space);
    if (slot === NONE) return NOBODY;
    const cutoff = this.now() - this.ttlMs;
    const found: string[] = [];
    for (let i = slot * HOLDERS; i < slot * HOLDERS + HOLDERS; i++) {
      const name = this.names.get(this.holder[i]!);
      if (name === undefined || this.touchedAt[i]! < cutoff) this.holder[i] = NONE;
      else found.push(name);
    }
    return found;
  }

  /** Records that `tenant` was sent a request with these beginnings. */
  touch(beginnings: readonly BoundaryHash[], tenant: string, space = 0): void {
    const number = this.numberOf(tenant);
    const now = this.now();
    for (const { boundary, hash } of beginnings) {
      let slot = this.find(boundary, hash, space);
      if (slot === NONE) slot = this.add(boundary, hash, space);
      else this.unlink(slot);
      this.append(slot);
      this.hold(slot, number, now);
    }
  }

  /** Forgets a tenant; constant time. */
  removeTenant(tenant: string): void {
    const number = this.numbers.get(tenant);
    if (number === undefined) return;
    this.numbers.delete(tenant);
    this.names.delete(number);
  }

  /** Forgets what a tenant held; constant time. A tenant is known by what it holds and nothing else. */
  resetTenant(tenant: string): void {
    this.removeTenant(tenant);
  }

  /**
   * Drops entries whose holders are all expired, oldest first.
   * @param budget entries dropped at most.
   * @returns whether it is done; false asks for another call.
   */
  sweep(budget: number): boolean {
    const cutoff = this.now() - this.ttlMs;
    for (let left = budget; ; left--) {
      if (this.oldest === NONE || this.lastTouchOf(this.oldest) >= cutoff) return true;
      if (left <= 0) return false;
      this.drop(this.oldest);
    }
  }

  private numberOf(tenant: string): number {
    let number = this.numbers.get(tenant);
    if (number === undefined) {
      number = ++this.lastNumber;
      this.numbers.set(tenant, number);
      this.names.set(number, tenant);
    }
    return number;
  }

  private hold(slot: number, number: number, now: number): void {
    let place = slot * HOLDERS;
    for (let i = place; i < slot * HOLDERS + HOLDERS; i++) {
      if (this.holder[i] === number) {
        place = i;
        break;
      }
      // A place of nobody's counts as the stalest of all.
      if (this.rankOf(i) < this.rankOf(place)) place = i;
    }
    this.holder[place] = number;
    this.touchedAt[place] = now;
  }

  private rankOf(place: number): number {
    return this.names.has(this.holder[place]!) ? this.touchedAt[place]! : -Infinity;
  }

  private lastTouchOf(slot: number): number {
    const i = slot * HOLDERS;
    return Math.max(this.touchedAt[i]!, this.touchedAt[i + 1]!, this.touchedAt[i + 2]!);
  }

  /** Multiply-shift by secret odd numbers: keys spread evenly whoever chose them. */
  private bucketOf(boundary: number, high: number, low: number, space: number): number {
    const [a, b, c] = this.keys;
    let mixed = Math.imul(high, a) ^ Math.imul(boundary + Math.imul(space, a), c);
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ low, b);
    return mixed >>> this.shift;
  }

  private find(boundary: number, { high, low }: Hash64, space: number): number {
    let slot = this.buckets[this.bucketOf(boundary, high, low, space)]!;
    while (slot !== NONE) {
      const isHash = this.low[slot] === low && this.high[slot] === high;
      if (isHash && this.boundary[slot] === boundary && this.space[slot] === space) break;
      slot = this.next[slot]!;
    }
    return slot;
  }

  private add(boundary: number, { high, low }: Hash64, space: number): number {
    if (this.count === this.maxEntries) this.drop(this.oldest);
    let slot = this.firstFree;
    if (slot === NONE) slot = ++this.used;
    else this.firstFree = this.next[slot]!;
    this.count++;
    this.counts.set(space, this.sizeOf(space) + 1);
    this.high[slot] = high;
    this.low[slot] = low;
    this.boundary[slot] = boundary;
    this.space[slot] = space;
    this.holder.fill(NONE, slot * HOLDERS, slot * HOLDERS + HOLDERS);
    this.touchedAt.fill(0, slot * HOLDERS, slot * HOLDERS + HOLDERS);
    const bucket = this.bucketOf(boundary, high, low, space);
    this.next[slot] = this.buckets[bucket]!;
    this.buckets[bucket] = slot;
    return slot;
  }

  private drop(slot: number): void {
    this.unlink(slot);
    const space = this.space[slot]!;
    const bucket = this.bucketOf(this.boundary[slot]!, this.high[slot]!, this.low[slot]!, space);
    let before = this.buckets[bucket]!;
    if (before === slot) {
      this.buckets[bucket] = this.next[slot]!;
    } else {
      while (this.next[before] !== slot) before = this.next[before]!;
      this.next[before] = this.next[slot]!;
    }
    this.next[slot] = this.firstFree;
    this.firstFree = slot;
    this.count--;
    const left = this.sizeOf(space) - 1;
    if (left > 0) this.counts.set(space, left);
    else this.counts.delete(space);
  }

  /** Puts a slot at the new end of the order of use. */
  private append(slot: number): void {
    this.older[slot] = this.newest;
    this.newer[slot] = NONE;
    if (this.newest === NONE) this.oldest = slot;
    else this.newer[this.newest] = slot;
    this.newest = slot;
  }

  private unlink(slot: number): void {
    const older = this.older[slot]!;
    const newer = this.newer[slot]!;
    if (older === NONE) this.oldest = newer;
    else this.newer[older] = newer;
    if (newer === NONE) this.newest = older;
    else this.older[newer] = older;
  }
}
