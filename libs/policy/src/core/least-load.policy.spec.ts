import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { fakeContext, fakeWorkers, policyParameters, type FakeWorker } from '@smg/testing';
import { FakeLoads } from '../../test/fake-loads';
import { LeastLoadPolicy } from './least-load.policy';
import { PowerOfTwoPolicy } from './power-of-two.policy';

const BASE = policyParameters().leastLoad;

function setUp(count: number, more: Partial<RoutingPolicyParameters['leastLoad']> = {}) {
  const loads = new FakeLoads();
  const workers = fakeWorkers(count);
  const draws: number[] = [];
  const random = () => draws.shift() ?? 0.99;
  const policy = new LeastLoadPolicy(
    policyParameters({ loads, random, leastLoad: { ...BASE, ...more } }),
  );
  const ask = (tokens?: number, candidates: readonly FakeWorker[] = workers) => {
    const context = fakeContext(tokens === undefined ? {} : { tokens: Array(tokens).fill(7) });
    const picked = policy.select(candidates, context);
    return picked === undefined ? undefined : workers.indexOf(picked);
  };
  return { loads, workers, policy, ask, draws };
}

describe('least_load without reports', () => {
  it('takes the fewest requests in flight', () => {
    const { workers, ask } = setUp(3);
    [4, 1, 2].forEach((load, i) => (workers[i]!.load = load));
    expect(ask()).toBe(1);
  });

  it('breaks ties uniformly', () => {
    const { ask, draws } = setUp(3);
    // The second is taken with 1/2, the third with 1/3.
    draws.push(0.4, 0.4);
    expect(ask()).toBe(1);
    draws.push(0.6, 0.3);
    expect(ask()).toBe(2);
    draws.push(0.6, 0.4);
    expect(ask()).toBe(0);
  });
});

describe('least_load with reports', () => {
  it('divides what is queued by the throughput', () => {
    const { loads, workers, ask } = setUp(2);
    // 4,000 tokens at 1,000 per second wait 4 s; 6,000 at 2,000 wait 3 s.
    loads.report(workers[0]!, { waitingUncachedTokens: 4_000, genThroughput: 1_000 });
    loads.report(workers[1]!, { waitingUncachedTokens: 6_000, genThroughput: 2_000 });
    expect(ask()).toBe(1);
  });

  it('takes a mean prompt per waiting request, and the default throughput, where none is reported', () => {
    const { loads, workers, ask } = setUp(2, { meanPrefillTokens: 100, defaultThroughput: 10 });
    loads.report(workers[0]!, { waitingRequests: 5 }); // 500 / 10 = 50 s
    loads.report(workers[1]!, { waitingUncachedTokens: 490 }); // 49 s
    expect(ask(1)).toBe(1);
    loads.report(workers[1]!, { waitingUncachedTokens: 510, waitingRequests: 1 });
    expect(ask(1)).toBe(0);
  });

  it('adds KV pressure, which grows without end as the cache fills', () => {
    const { loads, workers, ask } = setUp(2);
    // 0.15 * 0.8 / 0.2 = 0.6 s against 1,000 / 2,000 = 0.5 s.
    loads.report(workers[0]!, { tokenUsage: 0.8 });
    loads.report(workers[1]!, { waitingUncachedTokens: 1_000 });
    expect(ask(1)).toBe(1);
    loads.report(workers[1]!, { waitingUncachedTokens: 1_300 });
    expect(ask(1)).toBe(0);
    // A full cache counts as 0.999: 150 s, not infinity.
    loads.report(workers[0]!, { tokenUsage: 1 });
    loads.report(workers[1]!, { waitingUncachedTokens: 299_000 });
    expect(ask(1)).toBe(1);
    loads.report(workers[1]!, { waitingUncachedTokens: 301_000 });
    expect(ask(1)).toBe(0);
  });

  it('counts what it sent since the last report, and begins anew with the next', () => {
    const { loads, workers, ask } = setUp(2);
    loads.report(workers[0]!).report(workers[1]!, { waitingUncachedTokens: 2_500 });
    expect([ask(1_000), ask(1_000), ask(1_000), ask(400)]).toEqual([0, 0, 0, 1]);
    loads.report(workers[0]!);
    expect(ask(1)).toBe(0);
  });

  it('takes the mean prompt for a request of unknown length', () => {
    const { loads, workers, ask } = setUp(2);
    loads.report(workers[0]!).report(workers[1]!, { waitingUncachedTokens: 1_023 });
    expect([ask(), ask()]).toEqual([0, 1]);
  });

  it('guesses for a worker without a report from those that have one', () => {
    const { loads, workers, ask } = setUp(3, { meanPrefillTokens: 100 });
    // Nominal throughput (1,000 + 3,000) / 2: worker 2 waits 3 * 100 / 2,000 = 0.15 s.
    loads.report(workers[0]!, { genThroughput: 1_000, waitingUncachedTokens: 160 });
    loads.report(workers[1]!, { genThroughput: 3_000, waitingUncachedTokens: 600 });
    workers[2]!.load = 3;
    expect(ask(1)).toBe(2);
    workers[2]!.load = 4;
    expect(ask(1)).toBe(0);
  });

  it('drops workers whose queue is at the cap, and declines when all are', () => {
    const { loads, workers, ask } = setUp(2, { maxWaitingRequests: 3 });
    loads.report(workers[0]!, { waitingRequests: 2 }).report(workers[1]!, { waitingRequests: 2 });
    expect(new Set([ask(), ask()])).toEqual(new Set([0, 1]));
    expect(ask()).toBeUndefined();
    expect(ask(1, [workers[0]!])).toBeUndefined();
    loads.fail(workers[1]!);
    expect(ask()).toBe(1);
  });

  it('forgets what it sent to a removed worker', () => {
    const { loads, workers, policy, ask } = setUp(2);
    loads.report(workers[0]!).report(workers[1]!, { waitingUncachedTokens: 500 });
    expect([ask(1_000), ask(1)]).toEqual([0, 1]);
    policy.removeWorker(workers[0]!);
    expect(ask(1)).toBe(0);
  });
});

describe('power_of_two with reports', () => {
  const pair = () => {
    const loads = new FakeLoads();
    const workers = fakeWorkers(2);
    const policy = new PowerOfTwoPolicy(() => 0, loads);
    const ask = (tokens = 1) =>
      workers.indexOf(
        policy.select(workers, fakeContext({ tokens: Array(tokens).fill(7) })) as FakeWorker,
      );
    return { loads, workers, ask };
  };

  it('compares expected waits, not requests in flight', () => {
    const { loads, workers, ask } = pair();
    workers[1]!.load = 50;
    loads.report(workers[0]!, { waitingUncachedTokens: 900 }).report(workers[1]!);
    expect([ask(800), ask(200), ask()]).toEqual([1, 1, 0]);
  });

  it('guesses for the one that has no report', () => {
    const { loads, workers, ask } = pair();
    workers[0]!.load = 2; // 2,048 tokens at 500 per second: some 4.1 s
    loads.report(workers[1]!, { waitingUncachedTokens: 2_000, genThroughput: 500 });
    expect([ask(100), ask()]).toEqual([1, 0]);
  });
});
