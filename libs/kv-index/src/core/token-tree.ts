import { type EvictionLimits } from './prefix-tree';
import { type Tokens } from './tokens';

/** What a lookup found. */
export interface TokenMatch {
  /** Tokens that the tree holds, a multiple of the page. */
  readonly matchedTokens: number;
  readonly totalTokens: number;
  /** Up to the asked number of tenants of the deepest node that was reached. */
  readonly tenants: readonly string[];
}

/** Longest-prefix index over pages of tokens, per tenant, with eviction by size and age. */
export class TokenTree {
  constructor(
    private readonly now: () => number,
    readonly blockSize: number,
  ) {}
  get size(): number {
    return 0;
  }
  get tenantCount(): number {
    return 0;
  }
  sizeOf(_tenant: string): number {
    return 0;
  }
  addTenant(_tenant: string): void {
    this.now();
  }
  removeTenant(_tenant: string): void {
    this.now();
  }
  resetTenant(_tenant: string): void {
    this.now();
  }
  match(tokens: Tokens, _maxTenants = 8): TokenMatch {
    return { matchedTokens: 0, totalTokens: tokens.length, tenants: [] };
  }
  insert(_tokens: Tokens, _tenant: string): void {
    this.now();
  }
  evict(_limits: EvictionLimits): boolean {
    return true;
  }
}
