import fc from 'fast-check';
import { type RoutingPolicyParameters, type WorkerView } from '@smg/plugin-api';
import { FakeMetrics, fakeContext, policyParameters } from '@smg/testing';
import { FakeTimers } from '../../test/fake-timers';
import { keyedWorker, keyedWorkers, type KeyedWorker } from '../../test/keyed-workers';
import { KeyMetrics } from './key-metrics';
import { ManualPolicy } from './manual.policy';

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const timers = new FakeTimers();
  const metrics = new FakeMetrics();
  const policy = new ManualPolicy(policyParameters(more), new KeyMetrics(metrics), timers);
  const workers = keyedWorkers(count);
  for (const worker of workers) policy.addWorker(worker);
  const ask = (key?: string, candidates: readonly WorkerView[] = workers) =>
    policy.select(
      candidates,
      fakeContext(
        key === undefined ? {} : { headers: { 'x-smg-routing-key': key }, routingKey: key },
      ),
    ) as KeyedWorker;
  const branch = (name: string) => metrics.value('smg_manual_policy_branch_total', name) ?? 0;
  return { timers, metrics, policy, workers, ask, branch };
}

describe('manual', () => {
  it('keeps each key where it was assigned', () => {
    const { ask, branch } = setUp(3);
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      const first = ask(key);
      for (let i = 0; i < 3; i++) expect(ask(key)).toBe(first);
    }
    expect([branch('vacant'), branch('occupied_hit')]).toEqual([5, 15]);
  });

  it('takes session-1 and session-12 for two keys', () => {
    const draws = [0, 0.9];
    const { ask, workers } = setUp(3, { random: () => draws.shift() ?? 0 });
    expect([ask('session-1'), ask('session-12')]).toEqual([workers[0], workers[2]]);
    expect([ask('session-1'), ask('session-12')]).toEqual([workers[0], workers[2]]);
  });

  it('serves requests without a key, or with one of 129 bytes, and keeps nothing', () => {
    const { ask, workers, metrics, branch } = setUp(3);
    for (let i = 0; i < 20; i++) expect(workers).toContain(ask());
    expect(workers).toContain(ask('k'.repeat(129)));
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).toBe(0);
    expect(branch('no_routing_id')).toBe(21);
  });

  it('gives a key a second worker while its first is away, and the first again after', () => {
    const { ask, workers, branch } = setUp(3, { assignmentMode: 'min_load' });
    const first = ask('k');
    const others = workers.filter((worker) => worker !== first);
    const second = ask('k', others);
    expect(others).toContain(second);
    expect(ask('k', others)).toBe(second);
    expect(ask('k')).toBe(first);
    const third = others.find((worker) => worker !== second)!;
    expect(ask('k', [third])).toBe(third);
    // Two are kept: the first made room.
    expect(ask('k')).toBe(second);
    expect(branch('occupied_miss')).toBe(2);
  });

  it('finds a worker again that was removed and registered anew', () => {
    const { ask, policy } = setUp(3);
    const first = ask('k');
    policy.removeWorker(first);
    const again = keyedWorker(first.url);
    policy.addWorker(again);
    expect(ask('k', [...keyedWorkers(3).filter(({ url }) => url !== first.url), again])).toBe(
      again,
    );
  });

  it('assigns by load', () => {
    const { ask, workers } = setUp(3, { assignmentMode: 'min_load' });
    [3, 1, 2].forEach((load, i) => (workers[i]!.load = load));
    expect(ask('k')).toBe(workers[1]);
  });

  it('assigns by distinct keys in flight: nine keys at once make three for each worker', () => {
    const { ask, workers } = setUp(3, { assignmentMode: 'min_group' });
    for (let i = 0; i < 9; i++) ask(`k${i}`).begin(`k${i}`);
    expect(workers.map(({ keysInFlight }) => keysInFlight)).toEqual([3, 3, 3]);
    const one = new Set(Array.from({ length: 5 }, () => ask('k0')));
    expect(one.size).toBe(1);
  });

  it('counts one worker with many requests of few keys as lightly grouped', () => {
    const { ask, workers } = setUp(2, { assignmentMode: 'min_group' });
    for (let i = 0; i < 10; i++) workers[0]!.begin('busy');
    workers[1]!.begin('x');
    workers[1]!.begin('y');
    expect(ask('new')).toBe(workers[0]);
  });

  it('forgets idle keys, when looked up and when swept', () => {
    const draws = [0, 0.9, 0.9];
    const { ask, workers, timers, metrics } = setUp(3, {
      maxIdleSecs: 60,
      evictionIntervalSecs: 5,
      random: () => draws.shift() ?? 0,
    });
    expect(timers.intervalMs).toBe(5_000);
    expect(ask('k')).toBe(workers[0]);
    timers.time = 59_999;
    expect(ask('k')).toBe(workers[0]);
    timers.time = 119_999;
    expect(ask('k')).toBe(workers[2]);
    timers.time = 180_000;
    timers.tick();
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).toBe(0);
  });

  it('is bounded: with too many keys the least recently used are forgotten', () => {
    const { ask, metrics } = setUp(2);
    for (let i = 0; i < 262_150; i++) ask(`k${i}`);
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).toBe(262_144);
  });

  it('leaves no timer and no gauge behind', () => {
    const { policy, timers, metrics, ask } = setUp(1);
    ask('k');
    policy.dispose();
    expect(timers.open).toBe(0);
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).not.toBe(1);
  });

  it('never moves a key while its worker may serve, whoever else comes and goes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(5), fc.subarray([0, 1, 2, 3, 4])), { maxLength: 60 }),
        (steps) => {
          const { ask, workers } = setUp(5);
          const home = new Map<string, KeyedWorker[]>();
          for (const [k, present] of steps) {
            if (present.length === 0) continue;
            const candidates = present.map((i) => workers[i]!);
            const picked = ask(`k${k}`, candidates);
            expect(candidates).toContain(picked);
            const known = home.get(`k${k}`) ?? [];
            const expected = known.find((worker) => candidates.includes(worker));
            if (expected !== undefined) expect(picked).toBe(expected);
            else home.set(`k${k}`, [...known, picked].slice(-2));
          }
        },
      ),
    );
  });
});
