import { trimWhitespace } from './whitespace';

/** A weight version: text, and the number it spells if it spells one. Source: SMG RL contract 4.1. */
export interface WeightVersion {
  /** Trimmed, otherwise as written: `042` stays `042`. */
  readonly text: string;
  /** 0..2^64-1; undefined for a text version. */
  readonly number: bigint | undefined;
  /** The same number while a double holds it exactly, for comparisons without bigint. */
  readonly small: number | undefined;
}

/** Told when a number is ordered against text, which is byte order and not transitive. */
export type MixedComparison = (a: string, b: string) => void;

const MAX_U64 = 18_446_744_073_709_551_615n;
const DIGITS = /^\+?[0-9]+$/;
const ASCII = /^[\0-\x7f]*$/;

/** Reads a version. Anything is one: what is no unsigned 64-bit integer is a text version. */
export function parseVersion(text: string): WeightVersion {
  const trimmed = trimWhitespace(text);
  if (!DIGITS.test(trimmed)) return { text: trimmed, number: undefined, small: undefined };
  // BigInt takes no sign; thousands of leading zeros would only cost time.
  const digits = trimmed.replace(/^\+?0*(?=[0-9])/, '');
  const number = digits.length > 20 ? undefined : BigInt(digits);
  if (number === undefined || number > MAX_U64) {
    return { text: trimmed, number: undefined, small: undefined };
  }
  const small = number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : undefined;
  return { text: trimmed, number, small };
}

/** Order of the UTF-8 bytes; JavaScript's own order is that of UTF-16 and agrees for ASCII only. */
function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  if (ASCII.test(a) && ASCII.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Negative, 0 or positive. Numbers by value, text in byte order, a number against text in byte order
 * too. The last is not transitive (`10` > `9` > `1a` > `10`): never sort a mixed list with it.
 */
export function compareVersions(
  a: WeightVersion,
  b: WeightVersion,
  onMixed?: MixedComparison,
): number {
  if (a.small !== undefined && b.small !== undefined) return a.small - b.small;
  if (a.number !== undefined && b.number !== undefined) {
    return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  }
  if ((a.number === undefined) !== (b.number === undefined)) onMixed?.(a.text, b.text);
  return compareBytes(a.text, b.text);
}

/** Whether two versions are the same weights: `042` is `42`. No version equals only no version. */
export function equalVersions(a: WeightVersion | undefined, b: WeightVersion | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.small !== undefined || b.small !== undefined) return a.small === b.small;
  if (a.number !== undefined || b.number !== undefined) return a.number === b.number;
  return a.text === b.text;
}

/**
 * The later of two versions for a fleet maximum: any number beats any text, so the result does not
 * depend on the order of the comparisons. Of two equal ones the first. Source: SMG RL contract 5.2.
 */
export function laterVersion(a: WeightVersion | undefined, b: WeightVersion): WeightVersion {
  if (a === undefined) return b;
  if (a.number === undefined && b.number !== undefined) return b;
  if (a.number !== undefined && b.number === undefined) return a;
  return compareVersions(a, b) >= 0 ? a : b;
}
