import {
  createHashes,
  type EvictionLimits,
  HashIndex,
  HashRing,
  PrefixTree,
  tokenBytes,
  TokenTree,
} from '@smg/kv-index';
import { type MicroCase, type MicroSuite, repeat } from '../micro-suite';
import { PROMPT_LENGTH, PromptSource, TENANTS } from '../prompt-source';

const LIMITS: EvictionLimits = { maxCharacters: 64 * 2 ** 20, slice: 512 };
/** Decisions between two evictions where those are not to be measured: far less than one in a hundred. */
const DECISIONS_PER_EVICTION = 512;
/** The promise for a look-up and an insert. */
const DECISION_NS = 50_000;
const BOUNDARIES = [1_024, 512, 256, 128];

/** A look-up and the insert that follows it, in a full tree. */
interface Decisions {
  readonly tree: PrefixTree | TokenTree;
  decide(): number;
}

function textDecisions(): Decisions {
  const tree = new PrefixTree(() => 0);
  const source = new PromptSource();
  const decide = () => {
    const prompt = source.next();
    const known = tree.match(prompt).matchedCharacters;
    tree.insert(prompt, source.tenant());
    return known;
  };
  while (tree.fullness(LIMITS) < 1) decide();
  return { tree, decide };
}

/** A token for four bytes of a prompt, as an array of a parsed body. */
function tokenDecisions(): Decisions {
  const tree = new TokenTree(() => 0, 16);
  const source = new PromptSource();
  const tokens: number[] = Array.from({ length: PROMPT_LENGTH / 4 }, () => 0);
  const decide = () => {
    const prompt = source.next();
    for (let i = 0; i < tokens.length; i += 1) tokens[i] = prompt.readUInt32LE(i * 4);
    const known = tree.match(tokens).matchedTokens;
    tree.insert(tokens, source.tenant());
    return known;
  };
  while (tree.fullness(LIMITS) < 1) decide();
  return { tree, decide };
}

function casesOf(name: string, decisions: Decisions): MicroCase[] {
  const { tree } = decisions;
  const decide = () => decisions.decide();
  let turn = 0;
  const bare = () => {
    if (++turn % DECISIONS_PER_EVICTION === 0) while (!tree.evict(LIMITS));
    return decide();
  };
  const full = () => {
    const known = decide();
    tree.relieve(LIMITS);
    return known;
  };
  return [
    repeat(`${name}: match + insert`, bare, { p99AtMostNs: DECISION_NS }),
    repeat(`${name}: match + insert + relieve`, full, { p99AtMostNs: 4 * DECISION_NS }),
  ];
}

const accept = (url: string, refused: string): boolean => url !== refused;

/** Decisions at 64 workers and prompts of 8 KiB, with trees of 64 Mi characters and tokens. */
export const kvIndexSuite: MicroSuite = {
  name: 'kv index',
  async prepare() {
    const hashes = await createHashes();
    const ring = new HashRing(hashes);
    for (const url of TENANTS) ring.add(url);
    const position = hashes.blake3Prefix64('a routing key');
    const index = new HashIndex(() => 0, { ttlMs: 180_000 });
    let beginning = 0;
    const touch = () => {
      beginning += 1;
      const low = Math.imul(beginning, 0x9e37_79b1) >>> 0;
      index.touch(
        BOUNDARIES.map((boundary) => ({ boundary, hash: { high: beginning, low } })),
        TENANTS[beginning % TENANTS.length]!,
      );
      return index.holders(BOUNDARIES[0]!, { high: beginning, low }).length;
    };
    for (let i = 0; i < 100_000; i += 1) touch();
    const tokens = Array.from({ length: 1_024 }, (_, i) => i * 7);
    return [
      ...casesOf('text tree', textDecisions()),
      ...casesOf('token tree', tokenDecisions()),
      repeat('ring: find at a position', () => ring.findAt(position, accept, '')!.length),
      repeat('ring: find a key', () => ring.find('2d06800538d394c2', accept, '')!.length),
      repeat('ring: find the second', () => ring.findAt(position, accept, TENANTS[0]!)!.length),
      repeat('hash index: touch 4 new beginnings', touch, { p99AtMostNs: DECISION_NS }),
      repeat('xxh3 of 1,024 tokens', () => hashes.xxh3(tokenBytes(tokens)).low),
    ];
  },
};
