import { fakeContext, fakeWorkers, policyParameters, type FakeWorker } from '@smg/testing';
import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { CacheAwarePolicy } from './cache-aware.policy';
import { FakeTimers } from '../../test/fake-timers';

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const timers = new FakeTimers();
  const policy = new CacheAwarePolicy(policyParameters(more), { timers });
  const workers = fakeWorkers(count, { modelId: 'm' });
  for (const worker of workers) policy.addWorker(worker);
  const ask = (text: string, candidates: readonly FakeWorker[] = workers) =>
    workers.indexOf(policy.select(candidates, fakeContext({ text })) as FakeWorker);
  return { timers, policy, workers, ask };
}

describe('cache_aware', () => {
  it('sends the same prompt where it was sent first', () => {
    const { ask } = setUp(3);
    const first = ask('Tell me about lighthouses, please.');
    for (let i = 0; i < 5; i++) expect(ask('Tell me about lighthouses, please.')).toBe(first);
  });

  it('spreads unrelated prompts over idle workers: the one served least is next', () => {
    const { ask } = setUp(3);
    expect(['alpha', 'bravo', 'charlie', 'delta'].map((text) => ask(text))).toEqual([0, 1, 2, 0]);
  });

  it('counts a hit only above the threshold, in characters', () => {
    const { ask } = setUp(2, { cacheThreshold: 0.5 });
    expect(ask('世界世界')).toBe(0);
    // Two of four characters match: not more than half, so the worker served least gets it.
    expect(ask('世界abcd'.slice(0, 4))).toBe(1);
    expect(ask('世界世x')).toBe(0);
  });

  it('spills only when the holder exceeds both margins', () => {
    const { ask, workers } = setUp(2, { balanceAbsThreshold: 10, balanceRelThreshold: 1.5 });
    expect(ask('a long shared prompt')).toBe(0);
    workers[0]!.load = 20; // mean 10: 20 > 15, but not > 20
    expect(ask('a long shared prompt')).toBe(0);
    workers[0]!.load = 30; // mean 15: 30 > 22.5 and > 25
    expect(ask('a long shared prompt')).toBe(1);
    // The spilled prompt gained a second holder, which is now the lighter one.
    expect(ask('a long shared prompt')).toBe(1);
  });

  it('breaks ties between holders uniformly', () => {
    const draws = [0.9, 0.1];
    const { workers, ask } = setUp(2, { random: () => draws.shift() ?? 0 });
    ask('shared');
    workers[0]!.load = 1_000;
    expect(ask('shared')).toBe(1);
    workers[0]!.load = 0;
    expect([ask('shared'), ask('shared')]).toEqual([0, 1]);
  });

  it('takes the lightest, first in order, and learns nothing, when no holder is a candidate', () => {
    const { ask, workers } = setUp(3);
    expect(ask('only worker zero knows this')).toBe(0);
    const others = [workers[2]!, workers[1]!];
    expect(ask('only worker zero knows this', others)).toBe(2);
    workers[2]!.load = 1;
    expect(ask('only worker zero knows this', others)).toBe(1);
    expect(ask('only worker zero knows this')).toBe(0);
  });

  it.each([
    ['text', { text: 'a prompt of everybody' }],
    ['token ids', { tokens: Array.from({ length: 32 }, (_, i) => i) }],
  ])('spreads evenly, by %s, what only a paused worker holds', (_, options) => {
    const { policy, workers } = setUp(4);
    const select = (candidates: readonly FakeWorker[]) => {
      const picked = policy.select(candidates, fakeContext(options)) as FakeWorker;
      picked.load += 1;
      return workers.indexOf(picked);
    };
    expect(select(workers)).toBe(0);
    const others = workers.slice(1);
    for (let i = 0; i < 30; i++) select(others);
    expect(others.map(({ load }) => load)).toEqual([10, 10, 10]);
    expect(select(workers)).toBe(0);
  });

  it('forgets the prefixes of a reset worker but not how much it served', () => {
    const { ask, policy, workers } = setUp(2);
    expect(ask('prompt one')).toBe(0);
    expect(ask('zzz')).toBe(1);
    expect(ask('prompt one')).toBe(0);
    policy.resetWorker(workers[0]!);
    // Worker 0 has served two, worker 1 one: without a hit the latter is next.
    expect(ask('prompt one')).toBe(1);
  });

  it('forgets a removed worker', () => {
    const { ask, policy, workers } = setUp(2);
    ask('prompt one');
    policy.removeWorker(workers[0]!);
    expect(ask('prompt one', [workers[1]!])).toBe(1);
    policy.addWorker(workers[0]!);
    expect(ask('prompt one')).toBe(1);
  });

  it('keeps models apart', () => {
    const { policy, ask } = setUp(1);
    const other = fakeWorkers(2, { modelId: 'n' }).map((w, i) => ({ ...w, url: `http://n${i}` }));
    for (const worker of other) policy.addWorker(worker);
    ask('hello there');
    const context = fakeContext({ text: 'hello there' });
    const first = policy.select(other, context);
    expect(policy.select(other, context)).toBe(first);
    expect(ask('hello there')).toBe(0);
  });

  const ids = (length: number, from = 1000) => Array.from({ length }, (_, i) => from + i);

  it('matches by token ids, whatever the text, when there are some', () => {
    const { policy, workers } = setUp(2);
    const hinted = (text: string) => fakeContext({ text, tokens: ids(32) });
    for (const text of ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot']) {
      expect(policy.select(workers, hinted(text))).toBe(workers[0]);
    }
    expect(policy.select(workers, fakeContext({ text: 'alpha', tokens: [] }))).toBe(workers[1]);
  });

  it('matches whole pages of token ids; less than a page matches nothing', () => {
    const { policy, workers } = setUp(2, { blockSize: 4, cacheThreshold: 0.5 });
    const ask = (...tokens: number[]) =>
      workers.indexOf(policy.select(workers, fakeContext({ tokens })) as FakeWorker);
    expect(ask(...ids(8))).toBe(0);
    // Four of seven, more than half; four of eight are not.
    expect(ask(...ids(7).slice(0, 6), 7)).toBe(0);
    expect(ask(...ids(4), 7, 7, 7, 7)).toBe(1);
    expect([ask(1, 2, 3), ask(1, 2, 3), ask(1, 2, 3)]).toEqual([1, 0, 1]);
  });

  it('picks at random, and learns nothing, for a model it has no tree of', () => {
    const { policy } = setUp(1, { random: () => 0.99 });
    const strangers = fakeWorkers(3, { modelId: 'elsewhere' });
    expect(policy.select(strangers, fakeContext({ text: 'x' }))).toBe(strangers[2]);
  });

  it('evicts the least recently used prompt when its timer says so', () => {
    const { ask, timers } = setUp(2, { maxTreeSize: 20, evictionIntervalSecs: 7 });
    expect(timers.intervalMs).toBe(7_000);
    expect([ask('aaaaaaaaaaaa'), ask('aaaaaaaaaaaa'), ask('bbbbbbbbbbbb')]).toEqual([0, 0, 1]);
    timers.tick();
    // No hit any more, so the worker that served fewer gets it.
    expect(ask('aaaaaaaaaaaa')).toBe(1);
  });

  it('forgets idle prompts when told to', () => {
    const { ask, timers } = setUp(2, { maxPrefixIdleSecs: 60 });
    expect([ask('aaaaaaaaaaaa'), ask('aaaaaaaaaaaa'), ask('bbbbbbbbbbbb')]).toEqual([0, 0, 1]);
    timers.time = 61_000;
    timers.tick();
    expect(ask('aaaaaaaaaaaa')).toBe(1);
  });

  it('goes on in slices until the tree is small enough', () => {
    const { ask, timers, policy, workers } = setUp(1, { maxTreeSize: 1_000_000 });
    for (let i = 0; i < 3_000; i++) ask(String.fromCharCode(0x4e00 + i));
    policy.resetWorker(workers[0]!);
    let slices = 0;
    for (let work = timers.waiting.shift(); work !== undefined; work = timers.waiting.shift()) {
      work();
      slices++;
    }
    expect(slices).toBe(6);
  });

  it('does not wait for its timer once a tree is a quarter over its limit', () => {
    const { ask } = setUp(2, { maxTreeSize: 40 });
    for (let i = 0; i < 50; i++) expect(ask(`${i} ${'x'.repeat(15)}`)).toBe(i % 2);
    // A hit would go to worker 1; a miss goes to the first of two that served alike.
    expect(ask(`1 ${'x'.repeat(15)}`)).toBe(0);
  });

  it('stops its timer when disposed of', () => {
    const { policy, timers } = setUp(1);
    policy.dispose();
    expect(timers.stopped).toBe(1);
    expect(timers.open).toBe(0);
  });
});
