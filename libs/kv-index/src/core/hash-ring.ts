/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are in range by construction; a fallback would hide a fault */
import { type Hash64 } from './hash64';
import { type Hashes } from './hashes';

/** Points of one URL on the ring. Source: SMG contract, consistent_hashing. */
const POINTS_PER_URL = 150;

/** Where a key lies on a ring: the first 8 bytes of its BLAKE3, little-endian. */
export function ringPositionOf(hashes: Pick<Hashes, 'blake3Prefix64'>, key: string): Hash64 {
  return hashes.blake3Prefix64(key);
}

/**
 * Consistent hashing over URLs: a change of members moves only the keys of the URL that came or went.
 * Changes copy the ring (0.1 ms per 10,000 points); look-ups allocate nothing.
 */
export class HashRing {
  // One point per index, by ascending position; the halves apart, so that none needs a bigint.
  private high = new Uint32Array(0);
  private low = new Uint32Array(0);
  private owner = new Uint32Array(0);
  /** By owner number; numbers of removed URLs are used again. */
  private readonly urls: string[] = [];
  private readonly freeOwners: number[] = [];
  private readonly owners = new Map<string, number>();
  /** By owner number, the last walk that asked about it. */
  private seen = new Uint32Array(8);
  private walk = 0;

  constructor(private readonly hashes: Pick<Hashes, 'blake3Prefix64'>) {}

  /** URLs on the ring. */
  get size(): number {
    return this.owners.size;
  }

  has(url: string): boolean {
    return this.owners.has(url);
  }

  /** @returns whether it was new. */
  add(url: string): boolean {
    if (this.owners.has(url)) return false;
    const owner = this.freeOwners.pop() ?? this.urls.length;
    this.urls[owner] = url;
    this.owners.set(url, owner);
    if (owner >= this.seen.length) this.seen = new Uint32Array(this.seen.length * 2);
    const points: Hash64[] = [];
    for (let i = 0; i < POINTS_PER_URL; i++)
      points.push(ringPositionOf(this.hashes, `${url}#${i}`));
    points.sort((a, b) => a.high - b.high || a.low - b.low);
    this.merge(points, owner);
    return true;
  }

  /** @returns whether it was there. */
  remove(url: string): boolean {
    const owner = this.owners.get(url);
    if (owner === undefined) return false;
    this.owners.delete(url);
    this.urls[owner] = '';
    this.freeOwners.push(owner);
    let kept = 0;
    for (let i = 0; i < this.owner.length; i++) {
      if (this.owner[i] === owner) continue;
      this.high[kept] = this.high[i]!;
      this.low[kept] = this.low[i]!;
      this.owner[kept++] = this.owner[i]!;
    }
    this.high = this.high.slice(0, kept);
    this.low = this.low.slice(0, kept);
    this.owner = this.owner.slice(0, kept);
    return true;
  }

  /** {@link findAt} the position of a key. */
  find<C>(
    key: string,
    accepts: (url: string, context: C) => boolean,
    context: C,
  ): string | undefined {
    return this.findAt(ringPositionOf(this.hashes, key), accepts, context);
  }

  /**
   * Walks clockwise from the first point at or after `position`, and asks about each URL once.
   * @param accepts must not walk this ring itself. It gets `context`, so that it need be no closure.
   * @returns the first URL that is accepted.
   */
  findAt<C>(
    position: Hash64,
    accepts: (url: string, context: C) => boolean,
    context: C,
  ): string | undefined {
    const points = this.owner.length;
    if (points === 0) return undefined;
    const walk = this.startWalk();
    let unseen = this.owners.size;
    let at = this.firstAtOrAfter(position);
    for (let i = 0; i < points; i++, at++) {
      if (at === points) at = 0;
      const owner = this.owner[at]!;
      if (this.seen[owner] === walk) continue;
      this.seen[owner] = walk;
      const url = this.urls[owner]!;
      if (accepts(url, context)) return url;
      if (--unseen === 0) break;
    }
    return undefined;
  }

  private startWalk(): number {
    if (++this.walk > 0xffff_ffff) {
      this.seen.fill(0);
      this.walk = 1;
    }
    return this.walk;
  }

  private firstAtOrAfter({ high, low }: Hash64): number {
    let from = 0;
    let to = this.high.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const isBefore =
        this.high[middle]! < high || (this.high[middle] === high && this.low[middle]! < low);
      if (isBefore) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  private merge(points: readonly Hash64[], owner: number): void {
    const total = this.owner.length + points.length;
    const high = new Uint32Array(total);
    const low = new Uint32Array(total);
    const owners = new Uint32Array(total);
    let to = 0;
    let from = 0;
    for (const point of points) {
      const end = this.firstAtOrAfter(point);
      high.set(this.high.subarray(from, end), to);
      low.set(this.low.subarray(from, end), to);
      owners.set(this.owner.subarray(from, end), to);
      to += end - from;
      from = end;
      high[to] = point.high;
      low[to] = point.low;
      owners[to++] = owner;
    }
    high.set(this.high.subarray(from), to);
    low.set(this.low.subarray(from), to);
    owners.set(this.owner.subarray(from), to);
    this.high = high;
    this.low = low;
    this.owner = owners;
  }
}
