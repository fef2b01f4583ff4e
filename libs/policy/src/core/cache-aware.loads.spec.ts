import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { createHashes, type Hashes } from '@smg/kv-index';
import {
  FakeMetrics,
  fakeContext,
  fakeWorkers,
  policyParameters,
  type FakeContextOptions,
  type FakeWorker,
} from '@smg/testing';
import { FakeLoads } from '../../test/fake-loads';
import { FakeTimers } from '../../test/fake-timers';
import { CacheAwarePolicy } from './cache-aware.policy';
import { CacheGauges } from './cache-gauges';
import { Placements } from './placements';

let hashes: Hashes;
beforeAll(async () => {
  hashes = await createHashes();
});

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const timers = new FakeTimers();
  const loads = new FakeLoads();
  const metrics = new FakeMetrics();
  const policy = new CacheAwarePolicy(policyParameters({ loads, ...more }), {
    timers,
    hashes,
    gauges: new CacheGauges(metrics),
  });
  const workers = fakeWorkers(count, { modelId: 'm' });
  for (const worker of workers) policy.addWorker(worker);
  const ask = (options: FakeContextOptions, candidates: readonly FakeWorker[] = workers) =>
    workers.indexOf(policy.select(candidates, fakeContext(options)) as FakeWorker);
  return { timers, loads, metrics, policy, workers, ask };
}

const PROMPT = 'a prompt that several workers hold';
const ids = (length: number, from = 1_000) => Array.from({ length }, (_, i) => from + i);

/** Makes both of two workers holders of the prompt: it spills once. */
function spread({ workers, ask }: ReturnType<typeof setUp>): void {
  expect(ask({ text: PROMPT })).toBe(0);
  workers[0]!.load = 1_000;
  expect(ask({ text: PROMPT })).toBe(1);
  workers[0]!.load = 0;
}

describe('cache_aware under KV pressure', () => {
  it('goes by load alone while KV use is uneven, and learns', () => {
    const it = setUp(3, { balanceTokenUsageThreshold: 0.3 });
    const { loads, workers, ask } = it;
    expect(ask({ text: PROMPT })).toBe(0);
    loads.report(workers[0]!, { tokenUsage: 0.9 }).report(workers[1]!, { tokenUsage: 0.5 });
    workers[2]!.load = 1;
    workers[0]!.load = 2;
    expect(ask({ text: PROMPT })).toBe(1);
    loads.report(workers[0]!, { tokenUsage: 0.75 });
    // Calm again: both hold it now, and the second is lighter.
    expect(ask({ text: PROMPT })).toBe(1);
    workers[1]!.load = 3;
    expect(ask({ text: PROMPT })).toBe(0);
  });

  it('goes by load alone while one cache is too full', () => {
    const { loads, workers, ask } = setUp(2, { overloadTokenUsageThreshold: 0.8 });
    expect(ask({ text: PROMPT })).toBe(0);
    workers[0]!.load = 1;
    loads.report(workers[0]!, { tokenUsage: 0.8 });
    expect(ask({ text: PROMPT })).toBe(0);
    loads.report(workers[1]!, { tokenUsage: 0.81 });
    expect(ask({ text: PROMPT })).toBe(1);
  });

  it('never does by default', () => {
    const { loads, workers, ask } = setUp(2);
    ask({ text: PROMPT });
    workers[0]!.load = 1;
    loads.report(workers[0]!, { tokenUsage: 1 }).report(workers[1]!, { tokenUsage: 0 });
    expect(ask({ text: PROMPT })).toBe(0);
  });
});

describe('cache_aware with several holders', () => {
  it('prefers the holder with less waiting before the prefix, the more the shorter it is', () => {
    const it = setUp(2, { overlapDecay: 1 });
    spread(it);
    it.workers[1]!.load = 5;
    it.loads.report(it.workers[0]!, { waitingUncachedTokens: 1_000 });
    it.loads.report(it.workers[1]!, { waitingUncachedTokens: 900 });
    expect(it.ask({ text: PROMPT })).toBe(1);
    it.loads.report(it.workers[0]!, { waitingUncachedTokens: 900 });
    expect(it.ask({ text: PROMPT })).toBe(0);
  });

  it('goes by load where nobody reports, or nothing decays', () => {
    const decaying = setUp(2, { overlapDecay: 1 });
    spread(decaying);
    decaying.workers[0]!.load = 1;
    expect(decaying.ask({ text: PROMPT })).toBe(1);
    const plain = setUp(2);
    spread(plain);
    plain.workers[0]!.load = 1;
    plain.loads.report(plain.workers[1]!, { waitingUncachedTokens: 9_999 });
    expect(plain.ask({ text: PROMPT })).toBe(1);
  });

  it('draws by a softmax of the scores when there is a temperature', () => {
    const draws: number[] = [];
    const it = setUp(2, {
      overlapDecay: 1,
      selectionTemperature: 1,
      random: () => draws.shift() ?? 0,
    });
    spread(it);
    it.loads.report(it.workers[0]!).report(it.workers[1]!, { waitingUncachedTokens: 64 });
    // Stretched scores 1 and 0: weights 1 and 1/e, so the first has 0.731 of them.
    draws.push(0.73, 0.732);
    expect([it.ask({ text: PROMPT }), it.ask({ text: PROMPT })]).toEqual([0, 1]);
  });

  it('draws evenly with a temperature and no scores', () => {
    const draws: number[] = [];
    const it = setUp(2, { selectionTemperature: 0.5, random: () => draws.shift() ?? 0 });
    spread(it);
    draws.push(0.49, 0.51);
    expect([it.ask({ text: PROMPT }), it.ask({ text: PROMPT })]).toEqual([0, 1]);
  });
});

describe('cache_aware with a hash index', () => {
  const hashed = (count: number, more: Partial<RoutingPolicyParameters> = {}) =>
    setUp(count, { cacheIndex: 'hash', cacheBoundaries: [4, 8], ...more });

  it('sends requests of one beginning to one worker, by the deepest boundary', () => {
    const { ask } = hashed(3);
    expect(ask({ tokens: ids(9) })).toBe(0);
    // Shares four tokens of the first, so it goes there, and holds its own eight there.
    expect(ask({ tokens: [...ids(4), ...ids(9, 50)] })).toBe(0);
    expect(ask({ tokens: ids(9, 500) })).toBe(1);
    expect(ask({ tokens: [...ids(8, 500), 1, 2, 3] })).toBe(1);
  });

  it('goes by load without tokens, or with fewer than a boundary', () => {
    const { ask, workers, metrics } = hashed(3);
    [1, 0, 1].forEach((load, i) => (workers[i]!.load = load));
    expect([ask({ text: PROMPT }), ask({ tokens: ids(3) }), ask({ tokens: ids(3) })]).toEqual([
      1, 1, 1,
    ]);
    metrics.collect();
    expect(metrics.value('smg_cache_placement_entries', 'm')).toBe(0);
  });

  it('takes the least loaded holder that may serve', () => {
    const it = hashed(4);
    for (const worker of it.workers) it.ask({ tokens: ids(4) }, [worker]);
    // Three holders are kept: the first was the stalest.
    [0, 3, 1, 2].forEach((load, i) => (it.workers[i]!.load = load));
    expect(it.ask({ tokens: ids(4) })).toBe(2);
    expect(it.ask({ tokens: ids(4) }, [it.workers[0]!, it.workers[1]!])).toBe(1);
  });

  it('spills past both margins', () => {
    const { ask, workers } = hashed(2, { balanceAbsThreshold: 4 });
    expect(ask({ tokens: ids(4) })).toBe(0);
    workers[0]!.load = 20;
    expect(ask({ tokens: ids(4) })).toBe(1);
  });

  it('goes by load under KV pressure, and learns', () => {
    const { ask, workers, loads } = hashed(2, { overloadTokenUsageThreshold: 0.5 });
    expect(ask({ tokens: ids(4) })).toBe(0);
    workers[0]!.load = 1;
    loads.report(workers[0]!, { tokenUsage: 0.6 });
    expect(ask({ tokens: ids(4) })).toBe(1);
    loads.fail(workers[0]!);
    expect(ask({ tokens: ids(4) })).toBe(1);
  });

  it('forgets after the time to live, and a reset or removed worker at once', () => {
    const { ask, policy, workers, timers, metrics } = hashed(2, { cacheTtlSecs: 10 });
    const tokens = ids(4);
    expect([ask({ tokens }), ask({ tokens })]).toEqual([0, 0]);
    timers.time = 10_001;
    expect(ask({ tokens })).toBe(1);
    policy.resetWorker(workers[1]!);
    expect([ask({ tokens }), ask({ tokens })]).toEqual([1, 1]);
    policy.removeWorker(workers[1]!);
    expect(ask({ tokens }, [workers[0]!])).toBe(0);
    timers.time = 30_000;
    timers.tick();
    metrics.collect();
    expect(metrics.value('smg_cache_placement_entries', 'm')).toBe(0);
  });

  it('keeps models apart in one index, however many instances there are', () => {
    const placements = new Placements(() => 0);
    const parameters = policyParameters({ cacheIndex: 'hash', cacheBoundaries: [4] });
    const context = fakeContext({ tokens: ids(4) });
    for (const model of ['m', 'n']) {
      const policy = new CacheAwarePolicy(parameters, {
        timers: new FakeTimers(),
        hashes,
        placements,
      });
      const workers = fakeWorkers(2, { modelId: model });
      for (const worker of workers) policy.addWorker(worker);
      workers[0]!.load = 1;
      // Nothing is known of the beginning, whatever the other model's instance knows of it.
      expect(policy.select(workers, context)).toBe(workers[1]);
      workers[1]!.load = 2;
      expect(policy.select(workers, context)).toBe(workers[1]);
      expect([...policy.sizes()].map(([, { placements: count }]) => count)).toEqual([1]);
    }
    expect(placements.find(parameters.cacheTtlSecs * 1000)?.size).toBe(2);
  });

  it('needs hash functions', () => {
    expect(() => new CacheAwarePolicy(policyParameters({ cacheIndex: 'hash' }))).toThrow(
      /hash functions/,
    );
  });
});

describe('gauges of cache_aware', () => {
  it('are read at scrape, summed over instances, and go with the model', () => {
    const it = setUp(2);
    const { metrics, ask, policy, workers } = it;
    ask({ text: 'twelve chars' });
    ask({ tokens: ids(40) });
    metrics.collect();
    expect(metrics.value('smg_cache_tree_chars', 'm')).toBe(12);
    expect(metrics.value('smg_cache_tree_tokens', 'm')).toBe(32);
    expect(metrics.value('smg_cache_tree_tenants', 'm', 'string')).toBe(2);
    expect(metrics.value('smg_cache_tree_tenants', 'm', 'token')).toBe(2);
    for (const worker of workers) policy.removeWorker(worker);
    metrics.collect();
    expect(metrics.value('smg_cache_tree_chars', 'm')).toBeUndefined();
  });

  it('stop with their policy', () => {
    const { metrics, policy, ask } = setUp(1);
    ask({ text: PROMPT });
    policy.dispose();
    metrics.collect();
    expect(metrics.series('smg_cache_tree_chars')).toEqual([]);
  });
});
