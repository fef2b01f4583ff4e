import { type Edge } from './edge-store';

/** What a tree over bytes takes for one step of a path: a character, a page of tokens. */
export interface Units {
  /**
   * Key of the unit at `at`, an integer in 0..2^53-1, as good as unique: where two units share one,
   * the tree keeps the first that came.
   * @param end where the bytes end that may be looked at, at least a unit further.
   */
  keyAt(bytes: Buffer, at: number, end: number): number;
  /** Bytes of the longest common prefix of `text[start…]` and an edge that are whole units of both. */
  commonPrefix(text: Buffer, start: number, edge: Edge): number;
  /** Length of `bytes[start, end)`, whole units, in what sizes count. */
  lengthOf(bytes: Buffer, start: number, end: number): number;
}
