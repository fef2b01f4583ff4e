import { blake3 } from 'hash-wasm';
import fc from 'fast-check';
import { createHashes, type Hashes } from '@smg/kv-index';
import { FakeMetrics, fakeContext, fakeWorkers, type FakeWorker } from '@smg/testing';
import { ConsistentHashingPolicy, hashingBranches } from './consistent-hashing.policy';

let hashes: Hashes;
beforeAll(async () => {
  hashes = await createHashes();
});

function setUp(count: number, random: () => number = () => 0) {
  const metrics = new FakeMetrics();
  const policy = new ConsistentHashingPolicy(random, hashes, hashingBranches(metrics));
  const workers = fakeWorkers(count, { modelId: 'm' });
  for (const worker of workers) policy.addWorker(worker);
  const keyed = (routingKey: string, candidates: readonly FakeWorker[] = workers, model = 'm') =>
    policy.select(candidates, fakeContext({ model, routingKey })) as FakeWorker;
  const withHeaders = (headers: Record<string, string>) =>
    workers.indexOf(policy.select(workers, fakeContext({ model: 'm', headers })) as FakeWorker);
  const branch = (name: string) =>
    metrics.value('smg_consistent_hashing_policy_branch_total', name) ?? 0;
  return { policy, workers, keyed, withHeaders, branch };
}

/** The ring as the contract words it, slowly: 150 points per URL, clockwise from the key. */
async function ownerByTheBook(urls: readonly string[], key: string): Promise<string> {
  const position = async (text: string) =>
    Buffer.from(await blake3(text), 'hex').readBigUInt64LE(0);
  const points: [bigint, string][] = [];
  for (const url of urls) {
    for (let i = 0; i < 150; i++) points.push([await position(`${url}#${i}`), url]);
  }
  points.sort(([a], [b]) => (a < b ? -1 : 1));
  const at = await position(key);
  return (points.find(([point]) => point >= at) ?? points[0]!)[1];
}

describe('consistent_hashing', () => {
  it('finds the owner that the ring of the contract has', async () => {
    const { keyed, workers } = setUp(4);
    const urls = workers.map(({ url }) => url);
    for (const key of ['session-1', 'session-12', '北京', 'a b']) {
      expect(keyed(key).url).toBe(await ownerByTheBook(urls, key));
    }
  });

  it('moves only the keys of a worker that cannot serve, and gives them back', () => {
    const { keyed, workers } = setUp(5);
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(4), (key, away) => {
        const before = keyed(key);
        const rest = workers.filter((_, i) => i !== away);
        const without = keyed(key, rest);
        if (before !== workers[away]) expect(without).toBe(before);
        else expect(rest).toContain(without);
        expect(keyed(key)).toBe(before);
      }),
    );
  });

  it('moves at most a third, and a little, of the keys to a third worker', () => {
    const { policy, workers, keyed } = setUp(3);
    const two = workers.slice(0, 2);
    policy.removeWorker(workers[2]!);
    const keys = Array.from({ length: 2_000 }, (_, i) => `session-${i}`);
    const before = keys.map((key) => keyed(key, two));
    policy.addWorker(workers[2]!);
    const moved = keys.filter((key, i) => {
      const now = keyed(key);
      if (now !== before[i]) expect(now).toBe(workers[2]);
      return now !== before[i];
    });
    expect(moved.length / keys.length).toBeLessThan(1 / 3 + 0.08);
    expect(moved.length).toBeGreaterThan(0);
  });

  it('takes the routing key, then x-smg-routing-key, then what tells clients apart', () => {
    const { policy, workers, withHeaders, keyed } = setUp(8);
    const at = (key: string) => workers.indexOf(keyed(key));
    expect(withHeaders({ 'x-smg-routing-key': 'k1', authorization: 'k2' })).toBe(at('k1'));
    expect(withHeaders({ authorization: 'k2', 'x-forwarded-for': 'k3' })).toBe(at('k2'));
    expect(withHeaders({ 'x-forwarded-for': 'k3', cookie: 'k4' })).toBe(at('k3'));
    expect(withHeaders({ cookie: 'k5' })).toBe(at('k5'));
    const both = fakeContext({
      model: 'm',
      routingKey: 'k1',
      headers: { 'x-smg-routing-key': 'k9' },
    });
    expect(policy.select(workers, both)).toBe(keyed('k1'));
  });

  it('picks at random when the first implicit key that is present is no key', () => {
    const { withHeaders, branch, workers } = setUp(3, () => 0.99);
    const last = workers.length - 1;
    expect(withHeaders({ authorization: '', cookie: 'k' })).toBe(last);
    expect(withHeaders({ 'x-forwarded-for': 'caf\u00e9', cookie: 'k' })).toBe(last);
    expect(withHeaders({ 'x-smg-routing-key': 'k'.repeat(129) })).toBe(last);
    expect(withHeaders({})).toBe(last);
    expect([branch('random_fallback'), branch('routing_key_hit')]).toEqual([4, 0]);
  });

  it('counts what decided', () => {
    const { policy, keyed, branch } = setUp(2);
    keyed('k');
    policy.onTargetWorker(true);
    policy.onTargetWorker(false);
    policy.onNobody();
    expect(
      ['routing_key_hit', 'target_worker_hit', 'target_worker_miss', 'no_healthy_workers'].map(
        branch,
      ),
    ).toEqual([1, 1, 1, 1]);
  });

  it('has a ring per model, and one of everybody', () => {
    const { policy, workers, keyed } = setUp(3);
    const others = fakeWorkers(3, { modelId: 'n' }).map((worker, i) => ({
      ...worker,
      url: `http://n${i}:8000`,
    }));
    for (const worker of others) policy.addWorker(worker);
    const all = [...workers, ...others];
    for (let i = 0; i < 50; i++) {
      const key = `k${i}`;
      const ofAll = keyed(key, all, 'unknown');
      if (workers.includes(ofAll)) expect(keyed(key)).toBe(ofAll);
      else expect(keyed(key, others, 'n')).toBe(ofAll);
    }
  });

  it('spreads keys by their hash where it has no ring', () => {
    const { keyed } = setUp(0);
    const strangers = fakeWorkers(3, { modelId: 'm' });
    const picks = Array.from({ length: 60 }, (_, i) => keyed(`k${i}`, strangers));
    expect(new Set(picks).size).toBe(3);
    expect(picks).toEqual(Array.from({ length: 60 }, (_, i) => keyed(`k${i}`, strangers)));
    const { high, low } = hashes.blake3Prefix64('k7');
    const index = Number(((BigInt(high) << 32n) | BigInt(low)) % 3n);
    expect(picks[7]).toBe(strangers[index]);
  });

  it('follows a worker to another model', () => {
    const { policy, workers, keyed } = setUp(2);
    const moved = { ...workers[0]!, modelId: 'n' };
    policy.addWorker(moved);
    const rest = [workers[1]!];
    for (let i = 0; i < 20; i++) {
      expect(keyed(`k${i}`, rest)).toBe(workers[1]);
      expect(keyed(`k${i}`, [moved], 'n')).toBe(moved);
    }
  });
});
