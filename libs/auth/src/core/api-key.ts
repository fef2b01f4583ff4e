import { createHash } from 'node:crypto';

/**
 * Keys are hashed when loaded and never kept; a presented token is hashed and compared with every
 * entry in constant time, so neither the place nor the length of a match can be measured.
 */

/** 32-bit words of a SHA-256 digest. */
const WORDS = 8;

// A header byte is at most 0xff; anything above would be cut to its low byte by the Latin-1 encoder.
const NOT_LATIN1 = /[^\0-\xff]/;

/** A set of hashed keys; `Owner` is what a matching key stands for. */
export class KeyRing<Owner> {
  private readonly owners: Owner[] = [];
  /** Digests one after the other: comparing ten thousand must not cost a millisecond per request. */
  private readonly words: number[] = [];

  get size(): number {
    return this.owners.length;
  }

  /** @param key as configured; matched against the UTF-8 bytes a client sends. */
  add(key: string, owner: Owner): void {
    const digest = createHash('sha256').update(key, 'utf8').digest();
    for (let i = 0; i < WORDS; i += 1) this.words.push(digest.readInt32LE(4 * i));
    this.owners.push(owner);
  }

  /** @param token as Node reads it from a header: one Latin-1 character per byte. */
  find(token: string): Owner | undefined {
    if (NOT_LATIN1.test(token)) return undefined;
    const digest = createHash('sha256').update(token, 'latin1').digest();
    const wanted = Array.from({ length: WORDS }, (_, i) => digest.readInt32LE(4 * i));
    const { words } = this;
    let found: Owner | undefined;
    for (let entry = 0; entry < this.owners.length; entry += 1) {
      let difference = 0;
      for (let i = 0; i < WORDS; i += 1) {
        difference |= (words[WORDS * entry + i] ?? 0) ^ (wanted[i] ?? 0);
      }
      // No early exit, from the words or the entries: a hit takes as long as a miss.
      if (difference === 0) found = this.owners[entry];
    }
    return found;
  }
}
