import { Global, Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  METRICS,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  WORKER_LOADS,
  type SelectionLeg,
  type WorkerView,
} from '@smg/plugin-api';
import {
  FakeDirectory,
  FakeEvents,
  FakeMetrics,
  fakeContext,
  fakeWorker,
  policyParameters,
  type FakeContextOptions,
} from '@smg/testing';
import { FakeLoads } from '../test/fake-loads';
import { keyedWorkers } from '../test/keyed-workers';
import { type PolicyOptions, PolicyModule, PolicyRegistry, WorkerSelector } from './index';

const opened: { close(): Promise<void> }[] = [];
beforeAll(() => {
  Logger.overrideLogger(false);
});
afterEach(async () => {
  for (const module of opened.splice(0)) await module.close();
});

async function boot(workers: readonly WorkerView[], options: Partial<PolicyOptions> = {}) {
  const directory = new FakeDirectory(workers);
  const events = new FakeEvents();
  const metrics = new FakeMetrics();
  const loads = new FakeLoads();
  @Global()
  @Module({
    providers: [
      { provide: WORKER_DIRECTORY, useValue: directory },
      { provide: WORKER_EVENTS, useValue: events },
      { provide: METRICS, useValue: metrics },
      { provide: WORKER_LOADS, useValue: loads },
    ],
    exports: [WORKER_DIRECTORY, WORKER_EVENTS, METRICS, WORKER_LOADS],
  })
  class SeamsModule {}
  const module = await Test.createTestingModule({
    imports: [
      SeamsModule,
      PolicyModule.forRoot({
        policy: 'round_robin',
        requireFilters: [],
        parameters: policyParameters(),
        ...options,
      }),
    ],
  }).compile();
  await module.init();
  opened.push(module);
  const selector = module.get(WorkerSelector);
  const select = (request: FakeContextOptions = {}, avoid?: WorkerView) => {
    const { leg = 'regular' } = request;
    const outcome = selector.select(
      directory.pool('m', leg)!,
      fakeContext({ model: 'm', ...request }),
      avoid,
    );
    return outcome.kind === 'selected' ? outcome.worker : outcome;
  };
  const policies = module.get(PolicyRegistry);
  return { module, directory, events, metrics, loads, selector, select, policies };
}

const fleet = (count = 3) => keyedWorkers(count, { modelId: 'm' });
const onLeg = (workerType: 'prefill' | 'decode', count = 2) =>
  Array.from({ length: count }, (_, i) =>
    fakeWorker({ url: `http://${workerType}${i}`, modelId: 'm', workerType }),
  );

describe('policies of the legs', () => {
  it('are the main one, in an instance of their own, unless named', async () => {
    const { policies } = await boot([], { decodePolicy: 'random' });
    expect(policies.policyFor('m').name).toBe('round_robin');
    expect(policies.policyFor('m', 'prefill').name).toBe('round_robin');
    expect(policies.policyFor('m', 'prefill')).not.toBe(policies.policyFor('m'));
    expect(policies.policyFor('m', 'prefill')).toBe(policies.policyFor('n', 'prefill'));
    expect(policies.policyFor('m', 'decode').name).toBe('random');
  });

  it('select by the leg of the request', async () => {
    const workers = [...onLeg('prefill'), ...onLeg('decode'), ...fleet()];
    const { select } = await boot(workers, { decodePolicy: 'passthrough' });
    const urls = (leg: SelectionLeg) => [0, 1, 2].map(() => (select({ leg }) as WorkerView).url);
    expect(urls('prefill')).toEqual(['http://prefill0', 'http://prefill1', 'http://prefill0']);
    expect(urls('decode')).toEqual(Array(3).fill('http://decode0'));
    expect(urls('regular')).toEqual(['http://w0:8000', 'http://w1:8000', 'http://w2:8000']);
  });

  it('divide prompts by length on the prefill leg', async () => {
    const { select } = await boot(onLeg('prefill'), { prefillPolicy: 'bucket' });
    const url = (characters: number) =>
      (select({ leg: 'prefill', text: 'x'.repeat(characters) }) as WorkerView).url;
    expect([url(10), url(20), url(3_000)]).toEqual([
      'http://prefill0',
      'http://prefill0',
      'http://prefill1',
    ]);
  });

  it('follow a worker that is registered anew for another leg', async () => {
    const [worker] = onLeg('prefill', 1) as [WorkerView];
    const { events, select, directory } = await boot([worker], {
      prefillPolicy: 'consistent_hashing',
      decodePolicy: 'consistent_hashing',
    });
    const moved = { ...worker, workerType: 'decode' as const };
    directory.add(moved);
    events.emit({
      kind: 'replaced',
      worker: moved,
      previousLabels: moved.labels,
      previousModelId: 'm',
    });
    expect(select({ leg: 'decode', routingKey: 'k' })).toBe(moved);
    expect(select({ leg: 'prefill' })).toMatchObject({ kind: 'no_candidates' });
  });

  it('hear of new weights and removals', async () => {
    const workers = onLeg('prefill');
    const { events, select } = await boot(workers, { prefillPolicy: 'cache_aware' });
    const ask = () => select({ leg: 'prefill', text: 'a shared beginning' });
    expect([ask(), ask()]).toEqual([workers[0], workers[0]]);
    events.emit({ kind: 'weights_changed', baseUrl: workers[0]!.baseUrl });
    expect(ask()).toBe(workers[1]);
  });

  it('stop the start when they are unknown', async () => {
    await expect(boot([], { prefillPolicy: 'nope' })).rejects.toThrow("unknown policy 'nope'");
  });
});

describe('sticky sessions', () => {
  it('are off by default: no key is asked for', async () => {
    const { selector, directory } = await boot(fleet());
    const affinityKey = jest.fn();
    const context = { ...fakeContext({ model: 'm' }), affinityKey };
    expect(selector.select(directory.pool('m')!, context).kind).toBe('selected');
    expect(affinityKey).not.toHaveBeenCalled();
  });

  it('hold a key at its worker, among those the filters left', async () => {
    const workers = fleet();
    (workers[2] as { labels: ReadonlyMap<string, string> }).labels = new Map([['tier', 'gold']]);
    const { select } = await boot(workers, { stickyKeys: true, workerFilterHeader: 'x-f' });
    const first = select({ affinityKey: 'a' });
    expect(first).toBe(workers[0]);
    expect(select({ affinityKey: 'a' })).toBe(first);
    expect(select({ affinityKey: 'a', headers: { 'x-f': 'tier=gold' } })).toBe(workers[2]);
  });

  it('leave consistent_hashing and manual alone', async () => {
    for (const policy of ['consistent_hashing', 'manual']) {
      const { select, metrics } = await boot(fleet(), { stickyKeys: true, policy });
      select({ affinityKey: 'a', routingKey: 'k', headers: { 'x-smg-routing-key': 'k' } });
      expect(metrics.value('smg_routing_key_source_total', 'header')).toBeUndefined();
    }
  });

  it('survive one failed attempt', async () => {
    const workers = fleet();
    const { select } = await boot(workers, { stickyKeys: true });
    expect(select({ affinityKey: 'a' })).toBe(workers[0]);
    expect(select({ affinityKey: 'a' }, workers[0])).not.toBe(workers[0]);
    expect(select({ affinityKey: 'a' })).toBe(workers[0]);
  });

  it('end with the module', async () => {
    const { module, select, metrics } = await boot(fleet(), { stickyKeys: true });
    select({ affinityKey: 'a' });
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).toBe(1);
    opened.length = 0;
    await module.close();
    metrics.collect();
    expect(metrics.value('smg_manual_policy_cache_entries')).toBe(0);
  });
});

describe('consistent_hashing behind the selector', () => {
  it('serves the target of the unfiltered pool, or nobody, and counts both', async () => {
    const workers = fleet(4);
    workers[1]!.isAvailable = false;
    const { select, metrics } = await boot(workers, { policy: 'consistent_hashing' });
    const target = (index: string) => select({ headers: { 'x-smg-target-worker': index } });
    expect(target('2')).toBe(workers[2]);
    expect(target('1')).toEqual({ kind: 'no_candidates', cause: 'declined' });
    const branch = (name: string) =>
      metrics.value('smg_consistent_hashing_policy_branch_total', name);
    expect([branch('target_worker_hit'), branch('target_worker_miss')]).toEqual([1, 1]);
  });

  it('moves the key of an overloaded owner to another worker, and back', async () => {
    const workers = fleet(3);
    const { select, directory } = await boot(workers, { policy: 'consistent_hashing' });
    const owner = select({ routingKey: 'k' }) as (typeof workers)[number];
    owner.isAvailable = false;
    directory.changed();
    expect(workers.filter((worker) => worker !== owner)).toContain(select({ routingKey: 'k' }));
    owner.isAvailable = true;
    directory.changed();
    expect(select({ routingKey: 'k' })).toBe(owner);
  });

  it('gives every key a worker after a replacement', async () => {
    const workers = fleet(3);
    const { select, directory, events } = await boot(workers, { policy: 'consistent_hashing' });
    const again = { ...workers[0]!, labels: new Map([['a', 'b']]) };
    directory.add(again);
    events.emit({
      kind: 'replaced',
      worker: again,
      previousLabels: new Map(),
      previousModelId: 'm',
    });
    for (let i = 0; i < 100; i++) {
      expect(directory.pool('m')!.available()).toContain(select({ routingKey: `k${i}` }));
    }
  });

  it('counts when nobody is available', async () => {
    const workers = fleet(1);
    workers[0]!.isAvailable = false;
    const { select, metrics } = await boot(workers, { policy: 'consistent_hashing' });
    expect(select()).toMatchObject({ kind: 'no_candidates', cause: 'unavailable' });
    expect(metrics.value('smg_consistent_hashing_policy_branch_total', 'no_healthy_workers')).toBe(
      1,
    );
  });
});

describe('load reports', () => {
  it('reach the policies', async () => {
    const workers = fleet(2);
    const { select, loads } = await boot(workers, { policy: 'least_load' });
    workers[0]!.load = 9;
    loads.report(workers[0]!).report(workers[1]!, { waitingRequests: 50 });
    expect(select()).toBe(workers[0]);
  });

  it('reach a policy that a label asked for, which knows the workers of its model', async () => {
    const workers = keyedWorkers(2, { modelId: 'm', labels: { policy: 'least_load' } });
    const { select, loads } = await boot(workers);
    workers[0]!.load = 9;
    loads.report(workers[0]!).report(workers[1]!, { waitingRequests: 50 });
    expect(select()).toBe(workers[0]);
  });
});

describe('a burst', () => {
  it('of new sessions is even when load counts from selection on', async () => {
    const workers = fleet(8);
    const { select } = await boot(workers, {
      stickyKeys: true,
      parameters: { ...policyParameters(), assignmentMode: 'min_load' },
    });
    for (let i = 0; i < 64; i++) {
      const picked = select({ affinityKey: `s${i}` }) as (typeof workers)[number];
      picked.begin(`s${i}`);
    }
    expect(workers.map(({ load }) => load)).toEqual(Array(8).fill(8));
  });
});
