import { PrefixTree } from '@smg/kv-index';
import { type MicroSuite, repeat } from '../micro-suite';

/** Letters only, so that one byte is one character; the same text in every run. */
function text(seed: number, length: number): string {
  let state = seed * 2_654_435_761 + 1;
  let out = '';
  while (out.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    out += String.fromCharCode(97 + (state % 26));
  }
  return out;
}

const PROMPTS = 2_000;
const SYSTEM_PROMPTS = 200;
const SYSTEM_LENGTH = 1_500;

/** Longest-prefix match of cache-aware routing: 2,000 prompts in the tree, 75 % of a query known. */
export const prefixTreeSuite: MicroSuite = {
  name: 'prefix tree',
  prepare() {
    return [2_000, 4_000, 8_000].map((length) => {
      const tree = new PrefixTree(() => 0);
      const queries: Buffer[] = [];
      for (let i = 0; i < PROMPTS; i += 1) {
        const prompt = text(i % SYSTEM_PROMPTS, SYSTEM_LENGTH) + text(1_000 + i, length);
        tree.insert(Buffer.from(prompt.slice(0, length)), `worker-${i % 8}`);
        const known = prompt.slice(0, Math.floor(length * 0.75));
        queries.push(Buffer.from((known + text(9_000 + i, length)).slice(0, length)));
      }
      return repeat(
        `match ${length / 1_000} k characters`,
        (turn) => tree.match(queries[(turn * 19) % PROMPTS]!).matchedCharacters,
      );
    });
  },
};
