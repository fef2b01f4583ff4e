/** Below this many holdings, their number is no matter. */
const FEW_HOLDINGS = 4_096;
/** A holding with its node takes some 600 bytes, even where it stands for one character. */
const CHARACTERS_PER_HOLDING = 512;

/** When a tree's `evict` stops. */
export interface EvictionLimits {
  /** Characters (tokens, in a token tree), summed over tenants, that may stay. */
  readonly maxCharacters: number;
  /** Milliseconds since its last use after which a prefix goes although there is room. */
  readonly maxIdleMs?: number | undefined;
  /**
   * Marks of a tenant on an edge that may stay: bounds memory when prompts are short. By default a
   * 512th of `maxCharacters`, but not below 4,096.
   */
  readonly maxHoldings?: number | undefined;
  /** Holdings looked at before returning; bounds the time one call takes. */
  readonly slice?: number;
}

export function maxHoldingsOf(limits: EvictionLimits): number {
  return (
    limits.maxHoldings ?? Math.max(FEW_HOLDINGS, limits.maxCharacters / CHARACTERS_PER_HOLDING)
  );
}
