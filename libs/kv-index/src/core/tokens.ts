import { endianness } from 'node:os';

/** Token ids, each an integer in 0..2^32-1. */
export type Tokens = readonly number[] | Uint32Array;

export const BYTES_PER_TOKEN = 4;

const IS_BIG_ENDIAN = endianness() === 'BE';

/**
 * The first `count` tokens as little-endian 32-bit words, the form in which they are hashed
 * everywhere. A copy.
 */
export function tokenBytes(tokens: Tokens, count = tokens.length): Buffer {
  const words = new Uint32Array(Math.min(count, tokens.length));
  for (let i = 0; i < words.length; i++) words[i] = tokens[i] ?? 0;
  const bytes = Buffer.from(words.buffer);
  return IS_BIG_ENDIAN ? bytes.swap32() : bytes;
}
