/** An unsigned 64-bit number as two halves: a bigint would be allocated on each look-up. */
export interface Hash64 {
  /** Upper 32 bits, 0..2^32-1. */
  readonly high: number;
  /** Lower 32 bits, 0..2^32-1. */
  readonly low: number;
}

/** Sixteen lower-case hex digits, most significant first. */
export function hexOf(hash: Hash64): string {
  return hash.high.toString(16).padStart(8, '0') + hash.low.toString(16).padStart(8, '0');
}

/** The number modulo `divisor`, an integer in 1..2^20: exact without bigint. */
export function moduloOf(hash: Hash64, divisor: number): number {
  return ((hash.high % divisor) * (4_294_967_296 % divisor) + (hash.low % divisor)) % divisor;
}
