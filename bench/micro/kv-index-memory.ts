import { setTimeout } from 'node:timers/promises';
import {
  createHashes,
  type EvictionLimits,
  HashIndex,
  HashRing,
  PrefixTree,
  TokenTree,
} from '@smg/kv-index';
import { PromptSource, TENANTS } from './prompt-source';

// What indexes hold at their limits under streams that mean harm, and the slowest call on the way.
// node --expose-gc dist/bench/micro/kv-index-memory.js

const MIB = 2 ** 20;
const LIMITS: EvictionLimits = { maxCharacters: 16 * MIB };

async function heldBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('start node with --expose-gc');
  // Memory of Buffers is freed after the collection, in turns of its own.
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc();
    await setTimeout(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function measure(
  name: string,
  turns: number,
  start: () => (turn: number) => string,
): Promise<void> {
  const before = await heldBytes();
  const step = start();
  const samples = new Float64Array(turns);
  let note = '';
  for (let turn = 0; turn < turns; turn += 1) {
    const from = performance.now();
    note = step(turn);
    samples[turn] = performance.now() - from;
  }
  const held = ((await heldBytes()) - before) / MIB;
  // Asked after the collection, so that what is measured was still in use.
  step(0);
  samples.sort();
  const us = (share: number): string =>
    (samples[Math.ceil(share * turns) - 1]! * 1_000).toFixed(0).padStart(7);
  console.log(
    `${name.padEnd(44)} ${held.toFixed(1).padStart(7)} MiB  p50 ${us(0.5)}  p99 ${us(0.99)}  max ${us(1)} µs  ${note}`,
  );
}

/** Inserts and evicts as a policy does; says how full the tree is. */
function stream(
  tree: PrefixTree | TokenTree,
  insert: (turn: number) => void,
): (turn: number) => string {
  return (turn) => {
    insert(turn);
    tree.relieve(LIMITS);
    return turn % 1_000 === 999 ? `${tree.holdingCount} holdings, size ${tree.size}` : '';
  };
}

async function main(): Promise<void> {
  await measure('text: prompts of 8 KiB', 40_000, () => {
    const tree = new PrefixTree(() => 0);
    const source = new PromptSource();
    return stream(tree, () => tree.insert(source.next(), source.tenant()));
  });
  await measure('text: unique prompts of 2 characters', 400_000, () => {
    const tree = new PrefixTree(() => 0);
    return stream(tree, (turn) => {
      const text = String.fromCodePoint(
        0x4e00 + (turn % 20_000),
        0x4e00 + Math.floor(turn / 20_000),
      );
      tree.insert(Buffer.from(text), TENANTS[turn % 64]!);
    });
  });
  await measure('text: unique last character after 4 KiB', 100_000, () => {
    const tree = new PrefixTree(() => 0);
    const start = 'x'.repeat(4_096);
    return stream(tree, (turn) => {
      const end = String.fromCodePoint(
        0x4e00 + (turn % 20_000),
        0x4e00 + Math.floor(turn / 20_000),
      );
      tree.insert(Buffer.from(start + end), TENANTS[turn % 64]!);
    });
  });
  await measure('text: chains, each prompt a character longer', 40_000, () => {
    const tree = new PrefixTree(() => 0);
    const prompt = Buffer.alloc(8_192, 0x78);
    return stream(tree, (turn) => {
      if (turn % 8_192 === 0) prompt.writeUInt32BE(0x6161_6161 + turn / 8_192);
      tree.insert(prompt.subarray(0, (turn % 8_192) + 1), TENANTS[turn % 64]!);
      tree.match(prompt);
    });
  });
  await measure('tokens: unique prompts of one page of 16', 400_000, () => {
    const tree = new TokenTree(() => 0, 16);
    const page = new Uint32Array(16);
    return stream(tree, (turn) => {
      page[15] = turn;
      tree.insert(page, TENANTS[turn % 64]!);
    });
  });
  await measure('hash index: unique prompts, 4 boundaries', 400_000, () => {
    const index = new HashIndex(() => 0, { ttlMs: 180_000 });
    return (turn) => {
      const hash = { high: turn, low: Math.imul(turn, 0x9e37_79b1) >>> 0 };
      index.touch(
        [16, 64, 256, 1_024].map((boundary) => ({ boundary, hash })),
        TENANTS[turn % 64]!,
      );
      return turn % 1_000 === 999 ? `${index.size} entries` : '';
    };
  });
  const hashes = await createHashes();
  await measure('ring: a URL comes or goes among 512', 1_000, () => {
    const ring = new HashRing(hashes);
    for (let i = 0; i < 512; i += 1) ring.add(`http://engine-${i}:8000`);
    return (turn) => {
      const url = `http://engine-${Math.floor(turn / 2) % 512}:8000`;
      if (!ring.remove(url)) ring.add(url);
      return turn % 1_000 === 999 ? `${ring.size} URLs` : '';
    };
  });
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
