import { fakeContext, fakeWorkers, policyParameters, type FakeWorker } from '@smg/testing';
import { FakeTimers } from '../../test/fake-timers';
import { CacheAwarePolicy } from './cache-aware.policy';

// What cache-aware routing is for, as one scenario: engines that keep what they were sent, clients
// that share long beginnings, and a refit that empties one engine's cache.

/** An engine's prefix cache: it holds a group's beginning once it has served it. */
class Engines {
  private readonly held = new Map<string, Set<number>>();
  hits = 0;
  total = 0;

  serve(worker: FakeWorker, group: number): boolean {
    let groups = this.held.get(worker.url);
    if (groups === undefined) this.held.set(worker.url, (groups = new Set()));
    const isHit = groups.has(group);
    groups.add(group);
    this.total += 1;
    if (isHit) this.hits += 1;
    return isHit;
  }

  empty(worker: FakeWorker): void {
    this.held.delete(worker.url);
  }

  takeRate(): number {
    const rate = this.hits / this.total;
    this.hits = 0;
    this.total = 0;
    return rate;
  }
}

const GROUPS = 24;
const STEP = 40 * GROUPS;

function setUp() {
  const policy = new CacheAwarePolicy(policyParameters({ maxTreeSize: 1 << 22 }), {
    timers: new FakeTimers(),
  });
  const workers = fakeWorkers(4, { modelId: 'm' });
  for (const worker of workers) policy.addWorker(worker);
  const engines = new Engines();
  const beginnings = Array.from({ length: GROUPS }, (_, group) =>
    `${group}: system prompt of group ${group}. `.repeat(60),
  );
  let turn = 0;
  const send = (group: number): FakeWorker => {
    const text = `${beginnings[group]!} question ${turn++}`;
    return policy.select(workers, fakeContext({ model: 'm', text })) as FakeWorker;
  };
  /** One training step: every group asks, many times, in an order that mixes them. */
  const step = () => {
    const served: FakeWorker[] = [];
    for (let i = 0; i < STEP; i++) {
      const worker = send((i * 7) % GROUPS);
      engines.serve(worker, (i * 7) % GROUPS);
      served.push(worker);
    }
    return served;
  };
  return { policy, workers, engines, send, step };
}

describe('cache_aware over a shared-prefix load', () => {
  it('hits in more than 95 of 100 requests, with every worker at work', () => {
    const { engines, step, workers } = setUp();
    const served = step();
    expect(engines.takeRate()).toBeGreaterThan(0.95);
    for (const worker of workers) {
      expect(served.filter((one) => one === worker).length).toBeGreaterThan(STEP / 10);
    }
  });

  it('takes nothing for cached on a worker right after its reset, and is back within two steps', () => {
    const { policy, engines, step, workers, send } = setUp();
    step();
    const owner = send(3);
    engines.empty(owner);
    policy.resetWorker(owner);
    engines.takeRate();
    // No request is sent there as a hit: the owner of the group is chosen anew, by load.
    for (const worker of workers) worker.load = worker === owner ? 1 : 0;
    for (let group = 0; group < GROUPS; group++) expect(send(group)).not.toBe(owner);
    for (const worker of workers) worker.load = 0;
    step();
    engines.takeRate();
    step();
    expect(engines.takeRate()).toBeGreaterThan(0.95);
  });

  it('leaves what it knows of loads alone when a worker is reset', () => {
    const { policy, workers, step } = setUp();
    step();
    const counts = () => {
      const text = (i: number) => `${i} ${'new '.repeat(50)}`;
      return Array.from({ length: 4 }, (_, i) =>
        workers.indexOf(
          policy.select(workers, fakeContext({ model: 'm', text: text(i) })) as FakeWorker,
        ),
      );
    };
    const untouched = setUp();
    untouched.step();
    policy.resetWorker(workers[2]!);
    const expected = Array.from({ length: 4 }, (_, i) =>
      untouched.workers.indexOf(
        untouched.policy.select(
          untouched.workers,
          fakeContext({ model: 'm', text: `${i} ${'new '.repeat(50)}` }),
        ) as FakeWorker,
      ),
    );
    expect(counts()).toEqual(expected);
  });
});
