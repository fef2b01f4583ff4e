import { isAscii } from 'node:buffer';
import { type Edge } from './edge-store';
import { firstDifference } from './first-difference';
import { type Units } from './units';

// Characters are UTF-8 sequences: a byte that is no continuation (10xxxxxx) and the continuations
// after it. On valid UTF-8 that is one Unicode code point. Invalid bytes stay deterministic: a run of
// stray continuations belongs to what precedes it.

/** Bytes below which a view of words costs more than it saves. */
const FEW_BYTES = 128;
/** Words after which a lane of the continuation counter could overflow. */
const MAX_WORDS = 255;
/** Bytes skipped at a time while looking for the end of the n-th character. */
const STRIDE = 256;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Characters in `bytes[start, end)`; `start` is a boundary. */
export function countCharacters(bytes: Buffer, start = 0, end = bytes.length): number {
  if (end <= start) return 0;
  if (isAscii(bytes.subarray(start, end))) return end - start;
  const isCut = isContinuation(bytes[start]);
  return countStarts(bytes, start, end) + (isCut ? 1 : 0);
}

/** Bytes of the first `characters` characters of `text`; all of it when it has no more. */
export function byteLengthOfCharacters(text: Buffer, characters: number): number {
  if (characters <= 0) return 0;
  const ascii = Math.min(characters, text.length);
  // The byte after them must start a character for them to end here.
  if (isAscii(text.subarray(0, ascii)) && !isContinuation(text[ascii])) return ascii;
  let at = 1;
  let left = characters;
  while (left > STRIDE && at + STRIDE <= text.length) {
    left -= countStarts(text, at, at + STRIDE);
    at += STRIDE;
  }
  for (; at < text.length; at++) if (!isContinuation(text[at]) && --left === 0) return at;
  return text.length;
}

/** Bytes in `bytes[start, end)` that are no continuation; four at a time where that pays. */
function countStarts(bytes: Buffer, start: number, end: number): number {
  let at = start;
  let count = 0;
  if (end - start >= FEW_BYTES) {
    while ((bytes.byteOffset + at) % 4 !== 0) if (!isContinuation(bytes[at++])) count++;
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >>> 2);
    count += words.length * 4 - countContinuations(words);
    at += words.length * 4;
  }
  for (; at < end; at++) if (!isContinuation(bytes[at])) count++;
  return count;
}

function countContinuations(words: Uint32Array): number {
  let count = 0;
  for (let from = 0; from < words.length; from += MAX_WORDS) {
    const to = Math.min(from + MAX_WORDS, words.length);
    // Four counters in one number, a byte each.
    let lanes = 0;
    for (let i = from; i < to; i++) {
      const word = words[i] ?? 0;
      lanes += (word >>> 7) & (~word >>> 6) & 0x0101_0101;
    }
    count += (lanes & 255) + ((lanes >>> 8) & 255) + ((lanes >>> 16) & 255) + (lanes >>> 24);
  }
  return count;
}

/** Key of the character at `at`: its first four bytes as a number. */
function characterKey(bytes: Buffer, at: number, end: number): number {
  let key = bytes[at] ?? 0;
  const stop = Math.min(at + 4, end);
  for (let i = at + 1; i < stop && isContinuation(bytes[i]); i++) key = key * 256 + (bytes[i] ?? 0);
  return key;
}

/** Bytes of the longest common prefix of `text[start…]` and an edge that ends on a boundary of both. */
function commonPrefix(text: Buffer, start: number, edge: Edge): number {
  const { bytes } = edge.chunk;
  const limit = Math.min(text.length - start, edge.size);
  let end = firstDifference(text, start, bytes, edge.start, limit);
  while (end > 0) {
    // What is behind the edge is another one's.
    const isEdgeCut = end < edge.size && isContinuation(bytes[edge.start + end]);
    if (!isEdgeCut && !isContinuation(text[start + end])) break;
    end--;
  }
  return end;
}

/** Characters as the units of a tree. */
export const CHARACTERS: Units = {
  keyAt: characterKey,
  commonPrefix,
  lengthOf: countCharacters,
};
