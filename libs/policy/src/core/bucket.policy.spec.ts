import fc from 'fast-check';
import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { fakeContext, fakeWorkers, policyParameters, type FakeWorker } from '@smg/testing';
import { FakeTimers } from '../../test/fake-timers';
import { BucketPolicy } from './bucket.policy';
import { evenRanges, fittedRanges, rangeOf } from './bucket-ranges';
import { SentWindow } from './sent-window';

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const timers = new FakeTimers();
  const policy = new BucketPolicy(
    policyParameters({ balanceAbsThreshold: 1_000_000, ...more }),
    timers,
  );
  const workers = fakeWorkers(count, { modelId: 'm', workerType: 'prefill' });
  for (const worker of workers) policy.addWorker(worker);
  const ask = (size: number, candidates: readonly FakeWorker[] = workers) =>
    workers.indexOf(
      policy.select(
        candidates,
        fakeContext({ leg: 'prefill', text: 'x'.repeat(size) }),
      ) as FakeWorker,
    );
  return { timers, policy, workers, ask };
}

describe('bucket', () => {
  it('divides 0 to 4096 evenly at first; the last range has no end', () => {
    const { ask } = setUp(4);
    expect([0, 1_023, 1_024, 2_047, 2_048, 3_072, 9_999].map((size) => ask(size))).toEqual([
      0, 0, 1, 1, 2, 3, 3,
    ]);
  });

  it('measures tokens before characters, and characters not bytes', () => {
    const { policy, workers } = setUp(4);
    const at = (options: object) =>
      workers.indexOf(
        policy.select(workers, fakeContext({ leg: 'prefill', ...options })) as FakeWorker,
      );
    expect(at({ tokens: Array(2_000).fill(1), text: 'x' })).toBe(1);
    expect(at({ text: '界'.repeat(1_000) })).toBe(0);
    expect(at({})).toBe(0);
  });

  it('sends to the one that was sent least while what was sent is uneven by both measures', () => {
    const { ask, timers } = setUp(2, { balanceAbsThreshold: 500, balanceRelThreshold: 1.5 });
    expect([ask(400), ask(100)]).toEqual([0, 0]);
    // 500 against nothing is not more than 500 apart.
    expect(ask(1)).toBe(0);
    // 501 against 0, then 501 against 10.
    expect([ask(10), ask(10)]).toEqual([1, 0]);
    timers.time = 5_000;
    expect(ask(10)).toBe(0);
  });

  it('fits its ranges to the last window', () => {
    const { ask, timers } = setUp(2);
    for (let i = 0; i < 60; i++) ask(10);
    for (let i = 0; i < 6; i++) ask(100);
    timers.time = 4_999;
    timers.tick();
    // 1,200 in all, 600 each: the sixty short ones fill the first range.
    expect([ask(10), ask(11), ask(100)]).toEqual([0, 1, 1]);
  });

  it('leaves its ranges alone while the volume stays within a factor of two', () => {
    const { ask, timers } = setUp(2);
    for (let i = 0; i < 10; i++) ask(100);
    timers.tick();
    expect(ask(101)).toBe(1);
    timers.time = 6_000;
    for (let i = 0; i < 4; i++) ask(250);
    timers.tick();
    expect(ask(101)).toBe(1);
    timers.time = 12_000;
    for (let i = 0; i < 20; i++) ask(250);
    timers.tick();
    expect(ask(101)).toBe(0);
  });

  it('serves elsewhere what its owner cannot take', () => {
    const { ask, workers } = setUp(3);
    ask(1_500);
    expect(ask(10, workers.slice(1))).toBe(2);
    expect(ask(10)).toBe(0);
  });

  it('is a uniform choice for workers that are no prefill workers', () => {
    const draws = [0.1, 0.9];
    const { policy } = setUp(1, { random: () => draws.shift() ?? 0 });
    const regular = fakeWorkers(2);
    for (const worker of regular) policy.addWorker(worker);
    expect([0, 1].map(() => policy.select(regular, fakeContext({ text: 'x' })))).toEqual(regular);
  });

  it('divides anew when a worker comes or goes', () => {
    const { policy, workers, ask } = setUp(4);
    policy.removeWorker(workers[3]!);
    expect(ask(1_300, workers.slice(0, 3))).toBe(0);
    policy.addWorker(workers[3]!);
    expect(ask(1_300)).toBe(1);
  });

  it('stops its timer when disposed of', () => {
    const { policy, timers } = setUp(1);
    expect(timers.intervalMs).toBe(5_000);
    policy.dispose();
    expect(timers.open).toBe(0);
  });
});

describe('ranges', () => {
  const sizes = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 200 });

  it('ascend, cover every size, and number as many as the workers', () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 9 }), (list, count) => {
        const sorted = Float64Array.from(list).sort();
        const share = list.reduce((sum, size) => sum + size, 0) / count;
        fc.pre(share > 0);
        for (const uppers of [evenRanges(count), fittedRanges(sorted, count, share)]) {
          expect(uppers).toHaveLength(count);
          expect(uppers.at(-1)).toBe(Infinity);
          for (let i = 1; i < count; i++) expect(uppers[i]!).toBeGreaterThan(uppers[i - 1]!);
          for (const size of list) {
            const at = rangeOf(uppers, size);
            expect(size).toBeLessThanOrEqual(uppers[at]!);
            if (at > 0) expect(size).toBeGreaterThan(uppers[at - 1]!);
          }
        }
      }),
    );
  });
});

describe('SentWindow', () => {
  it('sums what was sent within its time, and no more records than it has room for', () => {
    const window = new SentWindow(2, 100);
    for (let i = 0; i < 20_000; i++) window.record(i % 2, 1, 0);
    expect(window.total).toBe(16_384);
    window.record(0, 5, 50);
    window.expire(100);
    expect([window.sumOf(0), window.sumOf(1), [...window.sortedSizes()]]).toEqual([5, 0, [5]]);
    window.expire(150);
    expect(window.total).toBe(0);
  });
});
