import { isAscii } from 'node:buffer';

// Characters are UTF-8 sequences: a byte that is no continuation (10xxxxxx) and the continuations
// after it. On valid UTF-8 that is one Unicode code point. Invalid bytes stay deterministic: a run of
// stray continuations belongs to what precedes it.

/** Bytes compared per native call while looking for the first difference. */
const GALLOP = 256;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Characters in `bytes[start, end)`; `start` is a boundary. */
export function countCharacters(bytes: Buffer, start = 0, end = bytes.length): number {
  if (end <= start) return 0;
  if (isAscii(bytes.subarray(start, end))) return end - start;
  let count = 1;
  for (let i = start + 1; i < end; i++) if (!isContinuation(bytes[i])) count++;
  return count;
}

/** Key of the character at `at`: its first four bytes as a number. */
export function characterKey(bytes: Buffer, at: number): number {
  let key = bytes[at] ?? 0;
  for (let i = 1; i < 4 && isContinuation(bytes[at + i]); i++) {
    key = key * 256 + (bytes[at + i] ?? 0);
  }
  return key;
}

/** First index at which the bytes differ, relative to both starts; `limit` when none does. */
function firstDifference(a: Buffer, aStart: number, b: Buffer, limit: number): number {
  let done = 0;
  while (done < limit) {
    const step = Math.min(GALLOP, limit - done);
    if (a.compare(b, done, done + step, aStart + done, aStart + done + step) !== 0) {
      while (a[aStart + done] === b[done]) done++;
      return done;
    }
    done += step;
  }
  return limit;
}

/** Bytes of the longest common prefix of `text[start…]` and `edge` that ends on a boundary of both. */
export function commonPrefix(text: Buffer, start: number, edge: Buffer): number {
  const limit = Math.min(text.length - start, edge.length);
  let end = firstDifference(text, start, edge, limit);
  while (end > 0 && (isContinuation(text[start + end]) || isContinuation(edge[end]))) end--;
  return end;
}

/** Bytes of the first `characters` characters of `text`; all of it when it has no more. */
export function byteLengthOfCharacters(text: Buffer, characters: number): number {
  if (characters <= 0) return 0;
  const limit = Math.min(characters, text.length);
  if (isAscii(text.subarray(0, limit))) return limit;
  let left = characters;
  for (let i = 1; i < text.length; i++) if (!isContinuation(text[i]) && --left === 0) return i;
  return text.length;
}
