import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Keys are hashed when loaded and never kept; a presented token is hashed and compared with every
 * entry in constant time, so neither the place nor the length of a match can be measured.
 */

/** What a matching key stands for. */
export interface KeyOwner {
  /** The key of `--api-key`, or one tenant's. */
  readonly kind: 'shared' | 'tenant';
  /** Tenant id; empty for the shared key. */
  readonly tenant: string;
}

interface Entry {
  readonly digest: Buffer;
  readonly owner: KeyOwner;
}

// A header byte is at most 0xff; anything above would be cut to its low byte by the Latin-1 encoder.
const NOT_LATIN1 = /[^\0-\xff]/;

/** A set of hashed keys. */
export class KeyRing {
  private readonly entries: Entry[] = [];

  get size(): number {
    return this.entries.length;
  }

  /** @param key as configured; matched against the UTF-8 bytes a client sends. */
  add(key: string, owner: KeyOwner): void {
    this.entries.push({ digest: createHash('sha256').update(key, 'utf8').digest(), owner });
  }

  /** @param token as Node reads it from a header: one Latin-1 character per byte. */
  find(token: string): KeyOwner | undefined {
    if (NOT_LATIN1.test(token)) return undefined;
    const digest = createHash('sha256').update(token, 'latin1').digest();
    let found: KeyOwner | undefined;
    for (const entry of this.entries) {
      // No early exit: the loop takes as long for a hit as for a miss.
      if (timingSafeEqual(entry.digest, digest)) found = entry.owner;
    }
    return found;
  }
}
