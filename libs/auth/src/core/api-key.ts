import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Keys are hashed when loaded and never kept; a presented token is hashed and compared with every
 * entry in constant time, so neither the place nor the length of a match can be measured.
 */

interface Entry<Owner> {
  readonly digest: Buffer;
  readonly owner: Owner;
}

// A header byte is at most 0xff; anything above would be cut to its low byte by the Latin-1 encoder.
const NOT_LATIN1 = /[^\0-\xff]/;

/** A set of hashed keys; `Owner` is what a matching key stands for. */
export class KeyRing<Owner> {
  private readonly entries: Entry<Owner>[] = [];

  get size(): number {
    return this.entries.length;
  }

  /** @param key as configured; matched against the UTF-8 bytes a client sends. */
  add(key: string, owner: Owner): void {
    this.entries.push({ digest: createHash('sha256').update(key, 'utf8').digest(), owner });
  }

  /** @param token as Node reads it from a header: one Latin-1 character per byte. */
  find(token: string): Owner | undefined {
    if (NOT_LATIN1.test(token)) return undefined;
    const digest = createHash('sha256').update(token, 'latin1').digest();
    let found: Owner | undefined;
    for (const entry of this.entries) {
      // No early exit: the loop takes as long for a hit as for a miss.
      if (timingSafeEqual(entry.digest, digest)) found = entry.owner;
    }
    return found;
  }
}
