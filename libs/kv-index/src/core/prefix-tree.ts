import { TenantTree } from './tenant-tree';
import { CHARACTERS, countCharacters } from './utf8';

/** What a lookup found. */
export interface PrefixMatch {
  /** Characters of the text that the tree holds. */
  readonly matchedCharacters: number;
  /** Characters of the text. */
  readonly totalCharacters: number;
  /** Up to the asked number of tenants of the deepest node that was reached. */
  readonly tenants: readonly string[];
}

/** Longest-prefix index over UTF-8 text, per tenant, with eviction by size and age. */
export class PrefixTree extends TenantTree {
  /** @param now milliseconds, never going back; only ages are taken from it. */
  constructor(now: () => number) {
    super(now, CHARACTERS);
  }

  /**
   * The longest prefix of `text` that is held, and by whom.
   * @param maxTenants length of the answer's `tenants`.
   */
  match(text: Buffer, maxTenants = 8): PrefixMatch {
    const { bytes, length, tenants } = this.descend(text, maxTenants);
    return {
      matchedCharacters: length,
      totalCharacters: length + countCharacters(text, bytes),
      tenants,
    };
  }

  /** Records that `tenant` holds `text`; what is kept is copied. */
  insert(text: Buffer, tenant: string): void {
    this.record(text, tenant);
  }
}
