import { type RoutingPolicyParameters, type SelectionContext } from '@smg/plugin-api';
import { createHashes, type Hashes } from '@smg/kv-index';
import {
  FakeMetrics,
  fakeContext,
  fakeWorkers,
  policyParameters,
  type FakeContextOptions,
  type FakeWorker,
} from '@smg/testing';
import { ConsistentHashingPolicy, hashingBranches } from './consistent-hashing.policy';
import { PrefixHashPolicy, prefixBranches } from './prefix-hash.policy';

let hashes: Hashes;
beforeAll(async () => {
  hashes = await createHashes();
});

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const metrics = new FakeMetrics();
  const policy = new PrefixHashPolicy(policyParameters(more), hashes, prefixBranches(metrics));
  const workers = fakeWorkers(count, { modelId: 'm' });
  for (const worker of workers) policy.addWorker(worker);
  const pick = (context: SelectionContext) => policy.select(workers, context) as FakeWorker;
  const ask = (options: FakeContextOptions) => pick(fakeContext({ model: 'm', ...options }));
  const branch = (name: string) => metrics.value('smg_prefix_hash_policy_branch_total', name) ?? 0;
  return { policy, workers, ask, branch };
}

const ids = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);
const words = (i: number) => `prompt number ${i}, and then some text that differs: ${i * 7919}`;

describe('prefix_hash', () => {
  it('sends one prompt to one worker, and many to more', () => {
    const { ask } = setUp(3, { prefixTokenCount: 16 });
    expect(new Set(ids(6).map(() => ask({ text: words(1) }))).size).toBe(1);
    expect(new Set(ids(12).map((i) => ask({ text: words(i) }))).size).toBeGreaterThan(1);
  });

  it('goes by the routing key before the prompt', () => {
    const { ask, branch } = setUp(3, { prefixTokenCount: 16 });
    const one = ids(6).map((i) => ask({ text: words(i), routingKey: 'k' }));
    expect(new Set(one).size).toBe(1);
    const many = ids(12).map((i) => ask({ text: words(1), routingKey: `k${i}` }));
    expect(new Set(many).size).toBeGreaterThan(1);
    expect(branch('ring_hit')).toBe(18);
  });

  it('reads four characters for a token, whatever their bytes', () => {
    const { ask } = setUp(64, { prefixTokenCount: 2 });
    expect(ask({ text: '世界世界世界世界, one' })).toBe(ask({ text: '世界世界世界世界, two' }));
    expect(ask({ text: '世界世界世界世x' })).not.toBe(ask({ text: '世界世界世界世y' }));
    // A shorter text counts whole.
    expect(ask({ text: 'abc' })).not.toBe(ask({ text: 'abcd' }));
  });

  it('goes by token ids before the text', () => {
    const { ask } = setUp(64, { prefixTokenCount: 4 });
    const owner = ask({ text: 'a', tokens: ids(4) });
    expect(ask({ text: 'b', tokens: [...ids(4), 99] })).toBe(owner);
    expect(ask({ text: 'a', tokens: [] })).toBe(ask({ text: 'a' }));
  });

  it('looks the hash up in the ring as consistent_hashing looks a key up', () => {
    const { ask, workers } = setUp(8, { prefixTokenCount: 3 });
    const ring = new ConsistentHashingPolicy(
      Math.random,
      hashes,
      hashingBranches(new FakeMetrics()),
    );
    for (const worker of workers) ring.addWorker(worker);
    const ownerOf = (routingKey: string) =>
      ring.select(workers, fakeContext({ model: 'm', routingKey }));
    const bytes = Buffer.alloc(12);
    [70_000, 2, 0xffff_ffff].forEach((id, i) => bytes.writeUInt32LE(id, i * 4));
    expect(ask({ tokens: [70_000, 2, 0xffff_ffff, 5] })).toBe(ownerOf(hashes.xxh3Hex(bytes)));
    expect(ask({ routingKey: 'k7' })).toBe(ownerOf(hashes.xxh3Hex('k7')));
    expect(ask({ text: 'a prompt, and more' })).toBe(ownerOf(hashes.xxh3Hex('a prompt, an')));
  });

  it('hashes at the deepest boundary that fits, and not at the token count then', () => {
    const { ask } = setUp(64, { cacheBoundaries: [8, 32], prefixTokenCount: 2 });
    const tail = (length: number) => [...ids(length), 1_000_001];
    expect(ask({ tokens: tail(40) })).toBe(ask({ tokens: [...ids(32), 5] }));
    expect(ask({ tokens: tail(8) })).toBe(ask({ tokens: [...ids(8), 5, 6] }));
    expect(ask({ tokens: [...ids(2), 9] })).toBe(ask({ tokens: [...ids(2), 10] }));
    expect(ask({ text: 'x'.repeat(32) + 'a' })).toBe(ask({ text: 'x'.repeat(32) + 'b' }));
    // 11 characters of three bytes each have bytes enough for 32, and are no 32 characters.
    expect(ask({ text: '界'.repeat(11) + 'a' })).toBe(ask({ text: '界'.repeat(11) + 'b' }));
  });

  it('passes an owner over that has more than its share, for the owner of a shorter prefix', () => {
    const parameters = { cacheBoundaries: [8, 16], prefixHashBalanceAbsThreshold: 0 };
    const { ask, workers } = setUp(3, parameters);
    let seed = 0;
    let deep: FakeWorker;
    let shallow: FakeWorker;
    do {
      seed += 100;
      deep = ask({ tokens: ids(16, seed) });
      shallow = ask({ tokens: ids(8, seed) });
    } while (deep === shallow);
    const third = workers.find((worker) => worker !== deep && worker !== shallow)!;
    [deep.load, shallow.load, third.load] = [10, 2, 1];
    expect(ask({ tokens: ids(16, seed) })).toBe(shallow);
  });

  it('spills above 1.25 times the mean: the least loaded worker then', () => {
    const { ask, workers, branch } = setUp(4, { prefixHashBalanceAbsThreshold: 0 });
    const owner = ask({ routingKey: 'hot' });
    for (const worker of workers) worker.load = 10;
    owner.load = 12; // (42 + 1) / 4 * 1.25 = 13.4
    expect(ask({ routingKey: 'hot' })).toBe(owner);
    owner.load = 16; // (46 + 1) / 4 * 1.25 = 14.7
    const next = ask({ routingKey: 'hot' });
    expect(next).not.toBe(owner);
    expect(next).toBe(workers.find((worker) => worker !== owner));
    expect(branch('load_balance_walk')).toBe(1);
    owner.load = 10;
    expect(ask({ routingKey: 'hot' })).toBe(owner);
  });

  it('allows the threshold of requests above the mean', () => {
    const { ask } = setUp(2);
    const owner = ask({ routingKey: 'hot' });
    owner.load = 21; // mean 11, allowed 21
    expect(ask({ routingKey: 'hot' })).toBe(owner);
    owner.load = 22; // mean 11.5, allowed 21.5
    expect(ask({ routingKey: 'hot' })).not.toBe(owner);
  });

  it('takes the least loaded worker, the first on ties, without a key', () => {
    const { ask, workers, branch } = setUp(3);
    [2, 1, 1].forEach((load, i) => (workers[i]!.load = load));
    expect(ask({})).toBe(workers[1]);
    expect(ask({ text: '' })).toBe(workers[1]);
    // Text is no key on the legs of a pair.
    expect(ask({ text: 'a prompt', leg: 'prefill' })).toBe(workers[1]);
    expect(branch('no_routing_key')).toBe(3);
  });

  it('takes the least loaded worker where it has no ring', () => {
    const { policy, branch } = setUp(0);
    const strangers = fakeWorkers(2, { modelId: 'm' });
    strangers[0]!.load = 1;
    expect(policy.select(strangers, fakeContext({ model: 'm', routingKey: 'k' }))).toBe(
      strangers[1],
    );
    expect(branch('fallback_least_load')).toBe(1);
  });
});
