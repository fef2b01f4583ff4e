import fc from 'fast-check';
import {
  type RoutingPolicy,
  type RoutingPolicyParameters,
  type SelectionLeg,
  type WorkerView,
} from '@smg/plugin-api';
import { FakeMetrics, fakeContext, policyParameters } from '@smg/testing';
import { FakeTimers } from '../../test/fake-timers';
import { keyedWorkers, type KeyedWorker } from '../../test/keyed-workers';
import { KeyMetrics } from './key-metrics';
import { StickyKeys } from './sticky-keys';

interface Ask {
  readonly key?: string;
  readonly candidates?: readonly WorkerView[];
  readonly avoid?: WorkerView;
  readonly leg?: SelectionLeg;
}

function setUp(count: number, more: Partial<RoutingPolicyParameters> = {}) {
  const timers = new FakeTimers();
  const metrics = new FakeMetrics();
  const workers = keyedWorkers(count);
  let turn = 0;
  /** Every candidate in turn: without a pin, no two requests go to one worker. */
  const policy: RoutingPolicy = {
    name: 'turns',
    select: (candidates) => candidates[turn++ % candidates.length],
  };
  const sticky = new StickyKeys(
    policyParameters(more),
    new KeyMetrics(metrics),
    (url) => workers.find((worker) => worker.url === url),
    timers,
  );
  const ask = ({ key, candidates = workers, avoid, leg = 'regular' }: Ask) =>
    sticky.select(
      policy,
      candidates,
      fakeContext({ leg, ...(key === undefined ? {} : { affinityKey: key }) }),
      avoid,
    ) as KeyedWorker;
  const branch = (name: string) => metrics.value('smg_manual_policy_branch_total', name) ?? 0;
  return { timers, metrics, workers, sticky, policy, ask, branch };
}

describe('sticky keys', () => {
  it('pin a key to the worker the policy chose', () => {
    const { ask, workers, branch } = setUp(3);
    expect([ask({ key: 'a' }), ask({ key: 'b' }), ask({ key: 'a' }), ask({ key: 'b' })]).toEqual([
      workers[0],
      workers[1],
      workers[0],
      workers[1],
    ]);
    expect([branch('vacant'), branch('occupied_hit')]).toEqual([2, 2]);
  });

  it('leave a request without a key to the policy', () => {
    const { ask, workers, branch } = setUp(2);
    expect([ask({}), ask({}), ask({})]).toEqual([workers[0], workers[1], workers[0]]);
    expect(branch('no_routing_id')).toBe(3);
  });

  it('spill the third request in flight of a key, and move it for good', () => {
    const { ask, workers, branch } = setUp(3);
    ask({ key: 'a' }).begin('a');
    ask({ key: 'a' }).begin('a');
    // The policy's turn is worker 1: it differs and has room.
    const third = ask({ key: 'a' });
    expect(third).toBe(workers[1]);
    third.begin('a');
    expect(ask({ key: 'a' })).toBe(workers[1]);
    expect(branch('cap_respill')).toBe(1);
  });

  it('do not move a key to a worker that is as full of it', () => {
    const { ask, workers } = setUp(2);
    ask({ key: 'a' });
    for (const worker of workers) {
      worker.begin('a');
      worker.begin('a');
    }
    expect(ask({ key: 'a' })).toBe(workers[1]);
    workers[0]!.end('a');
    expect(ask({ key: 'a' })).toBe(workers[0]);
  });

  it('never let other keys count against a key', () => {
    const { ask, workers } = setUp(2);
    ask({ key: 'a' });
    for (let i = 0; i < 9; i++) workers[0]!.begin(`other-${i}`);
    expect(ask({ key: 'a' })).toBe(workers[0]);
  });

  it('choose again when the pinned worker is away, and stay there', () => {
    const { ask, workers } = setUp(3);
    expect(ask({ key: 'a' })).toBe(workers[0]);
    const others = workers.slice(1);
    const next = ask({ key: 'a', candidates: others });
    expect(others).toContain(next);
    expect(ask({ key: 'a' })).toBe(next);
    // The first is still the second choice.
    expect(ask({ key: 'a', candidates: workers.filter((worker) => worker !== next) })).toBe(
      workers[0],
    );
  });

  it('keep their worker over failed attempts, and have one second for as long as they fail', () => {
    const { ask, workers } = setUp(4);
    expect(ask({ key: 'a' })).toBe(workers[0]);
    const others = workers.slice(1);
    const again = { key: 'a', candidates: others, avoid: workers[0]! };
    const second = ask(again);
    expect(others).toContain(second);
    expect([ask(again), ask(again)]).toEqual([second, second]);
    expect(ask({ key: 'a' })).toBe(workers[0]);
    const third = ask({ ...again, candidates: others.filter((worker) => worker !== second) });
    expect(ask(again)).toBe(third);
    expect(ask({ key: 'a' })).toBe(workers[0]);
  });

  it('keep legs apart', () => {
    const { ask, workers } = setUp(3);
    const picks = (['prefill', 'decode', 'prefill', 'decode'] as const).map((leg) =>
      ask({ key: 'a', leg }),
    );
    expect(picks).toEqual([workers[0], workers[1], workers[0], workers[1]]);
  });

  it('assign without the policy in the other modes', () => {
    const { ask, workers } = setUp(3, { assignmentMode: 'min_load' });
    [2, 1, 0].forEach((load, i) => (workers[i]!.load = load));
    expect(ask({ key: 'a' })).toBe(workers[2]);
    expect(ask({})).toBe(workers[0]);
  });

  it('are forgotten when idle', () => {
    const { ask, workers, timers } = setUp(2, { maxIdleSecs: 10 });
    expect(ask({ key: 'a' })).toBe(workers[0]);
    timers.time = 10_000;
    expect(ask({ key: 'a' })).toBe(workers[1]);
  });

  it('count where keys come from', () => {
    const { sticky, policy, workers, metrics } = setUp(1);
    for (const source of ['rid', 'header', 'rid'] as const) {
      const context = { ...fakeContext({ affinityKey: 'a' }), affinitySource: () => source };
      sticky.select(policy, workers, context, undefined);
    }
    const count = (source: string) => metrics.value('smg_routing_key_source_total', source);
    expect([count('rid'), count('header')]).toEqual([2, 1]);
  });

  it('hand a fault of the policy on', () => {
    const { sticky, workers } = setUp(1);
    const broken: RoutingPolicy = {
      name: 'broken',
      select: () => {
        throw new Error('x');
      },
    };
    expect(() =>
      sticky.select(broken, workers, fakeContext({ affinityKey: 'a' }), undefined),
    ).toThrow(expect.objectContaining({ code: 'policy_failed' }));
  });

  it('pin nothing when the policy declines', () => {
    const { sticky, workers, ask } = setUp(2);
    const shy: RoutingPolicy = { name: 'shy', select: () => undefined };
    const context = fakeContext({ affinityKey: 'a' });
    expect(sticky.select(shy, workers, context, undefined)).toBeUndefined();
    expect(ask({ key: 'a' })).toBe(workers[0]);
  });

  it('leave no timer behind', () => {
    const { sticky, timers } = setUp(1);
    expect(timers.open).toBe(3);
    sticky.dispose();
    expect(timers.open).toBe(0);
  });

  it('never put a third request of a key on its worker while another has room', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { ask, workers } = setUp(4);
        const running: [string, KeyedWorker][] = [];
        for (const [key, ends] of steps) {
          if (ends) {
            const [done] = running.splice(0, 1);
            if (done !== undefined) done[1].end(done[0]);
            continue;
          }
          const home = workers.filter((worker) => worker.requestsOf(key) > 0);
          const picked = ask({ key });
          const wasFull = picked.requestsOf(key) >= 2;
          // Full only when the policy sent the spilled request there.
          if (wasFull) expect(home.some((worker) => worker.requestsOf(key) >= 2)).toBe(true);
          picked.begin(key);
          running.push([key, picked]);
        }
      }),
    );
  });
});
