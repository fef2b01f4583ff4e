import { HashIndex } from '@smg/kv-index';

/**
 * The hash indexes of all cache_aware instances and models: one per time to live, of which there are
 * two at most, that of the command line and the built-in one. So what they take is bounded however
 * many models there are; each model has a space in one of them.
 */
export class Placements {
  private readonly indexes = new Map<number, HashIndex>();
  private spaces = 0;

  /** @param now milliseconds, never going back. */
  constructor(private readonly now: () => number) {}

  /** The index of a time to live; made with its first entry, for it takes its memory at once. */
  make(ttlMs: number): HashIndex {
    let index = this.indexes.get(ttlMs);
    if (index === undefined) {
      index = new HashIndex(this.now, { ttlMs });
      this.indexes.set(ttlMs, index);
    }
    return index;
  }

  /** The index of a time to live, if there is anything in it. */
  find(ttlMs: number): HashIndex | undefined {
    return this.indexes.get(ttlMs);
  }

  /** A number that was never given before. */
  nextSpace(): number {
    return ++this.spaces;
  }
}
