import { PageUnits } from './page-units';
import { TenantTree } from './tenant-tree';
import { BYTES_PER_TOKEN, type Tokens } from './tokens';

/** Tokens up to which an array is converted in memory that is kept for the next call. */
const MAX_SCRATCH = 131_072;

/** What a lookup found. */
export interface TokenMatch {
  /** Tokens that the tree holds, whole pages of them. */
  readonly matchedTokens: number;
  readonly totalTokens: number;
  /** Up to the asked number of tenants of the deepest node that was reached. */
  readonly tenants: readonly string[];
}

/**
 * Longest-prefix index over token ids, per tenant, with eviction by size and age. Whole pages only are
 * kept and matched; what is shorter than one never matches and is not kept.
 */
export class TokenTree extends TenantTree {
  private scratch = new Uint32Array(0);

  /**
   * @param now milliseconds, never going back; only ages are taken from it.
   * @param blockSize tokens of a page, at least 1.
   * @param random uniform in 0..1; keys the look-up of pages, so that nobody can make them collide.
   */
  constructor(
    now: () => number,
    readonly blockSize: number,
    random: () => number = Math.random,
  ) {
    super(now, new PageUnits(blockSize * BYTES_PER_TOKEN, random));
  }

  /**
   * The longest prefix of `tokens` that is held, and by whom.
   * @param maxTenants length of the answer's `tenants`.
   */
  match(tokens: Tokens, maxTenants = 8): TokenMatch {
    const { length, tenants } = this.descend(this.pagesOf(tokens), maxTenants);
    return { matchedTokens: length, totalTokens: tokens.length, tenants };
  }

  /** Records that `tenant` holds the whole pages of `tokens`; what is kept is copied. */
  insert(tokens: Tokens, tenant: string): void {
    this.record(this.pagesOf(tokens), tenant);
  }

  /** The bytes of the whole pages; valid until the next call. */
  private pagesOf(tokens: Tokens): Buffer {
    const count = tokens.length - (tokens.length % this.blockSize);
    const bytes = count * BYTES_PER_TOKEN;
    if (tokens instanceof Uint32Array) return Buffer.from(tokens.buffer, tokens.byteOffset, bytes);
    let words = this.scratch;
    if (words.length < count) {
      words = new Uint32Array(2 ** Math.ceil(Math.log2(count)));
      if (count <= MAX_SCRATCH) this.scratch = words;
    }
    for (let i = 0; i < count; i++) words[i] = tokens[i] ?? 0;
    return Buffer.from(words.buffer, 0, bytes);
  }
}
