import { mix, Random } from './random';

/** A stretch of text that prompts share as a whole or not at all. */
export interface Segment {
  /** Equal ids are equal text; different ids differ within the first characters. */
  readonly id: number;
  readonly tokens: number;
}

/** What the text estimate of the gateway assumes too. */
export const CHARACTERS_PER_TOKEN = 4;
/** Base 36, so that segments part within their first two tokens. */
const HEAD = 8;

const NOISE = makeNoise(1 << 20);

function makeNoise(length: number): Buffer {
  const random = new Random(20);
  const noise = Buffer.alloc(length);
  for (let i = 0; i < length; i += 1) noise[i] = 97 + random.below(26);
  return noise;
}

export function tokensOf(segments: readonly Segment[]): number {
  let tokens = 0;
  for (const segment of segments) tokens += segment.tokens;
  return tokens;
}

/** The text of a prompt, ASCII. */
export function textOf(segments: readonly Segment[]): Buffer {
  const text = Buffer.allocUnsafe(tokensOf(segments) * CHARACTERS_PER_TOKEN);
  let at = 0;
  for (const { id, tokens } of segments) {
    const length = tokens * CHARACTERS_PER_TOKEN;
    text.write(id.toString(36).padStart(HEAD, '0'), at, 'latin1');
    let filled = HEAD;
    while (filled < length) {
      // Other noise for other segments: a shared tail would be found by nobody, but memory would be.
      const from = mix(id + filled) % (NOISE.length >> 1);
      filled += NOISE.copy(text, at + filled, from, from + length - filled);
    }
    at += length;
  }
  return text;
}

/** Token ids of a prompt, as clients that tokenise send them. */
export function tokenIdsOf(segments: readonly Segment[]): readonly number[] {
  const ids: number[] = [];
  for (const { id, tokens } of segments) {
    ids.push(id);
    const from = mix(id) % (NOISE.length >> 1);
    for (let i = 1; i < tokens; i += 1) ids.push(NOISE[(from + i) % NOISE.length]!);
  }
  return ids;
}
