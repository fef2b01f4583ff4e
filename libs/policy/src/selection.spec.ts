import { Global, Logger, Module, type DynamicModule, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  CANDIDATE_FILTER,
  METRICS,
  ROUTING_POLICY,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type CandidateFilter,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type WorkerView,
} from '@smg/plugin-api';
import {
  FakeDirectory,
  FakeEvents,
  FakeMetrics,
  fakeContext,
  fakeWorker,
  fakeWorkers,
  policyParameters,
} from '@smg/testing';
import { CandidateFilterChain, PolicyModule, PolicyRegistry, WorkerSelector } from './index';
import { type PolicyOptions } from './policy-options';

type Keep = (worker: WorkerView) => boolean;

let label = 0;
/** A plug-in module with one filter. */
function filterModule(filter: CandidateFilter): DynamicModule {
  @Module({})
  class FilterPlugin {}
  return {
    module: FilterPlugin,
    providers: CANDIDATE_FILTER.provide({ label: `f${label++}`, useFactory: () => filter }),
  };
}

function keeping(name: string, keep: Keep, more: Partial<CandidateFilter> = {}): CandidateFilter {
  return {
    name,
    order: 300,
    filter: (given) => (given.every(keep) ? given : given.filter(keep)),
    ...more,
  };
}

function policyModule(policy: RoutingPolicy): DynamicModule {
  return factoryModule({ name: policy.name, create: () => policy });
}

function factoryModule(factory: object): DynamicModule {
  @Module({})
  class PolicyPlugin {}
  return {
    module: PolicyPlugin,
    providers: ROUTING_POLICY.provide({
      label: `p${label++}`,
      useFactory: () => factory as RoutingPolicyFactory,
    }),
  };
}

async function boot(
  workers: readonly WorkerView[],
  options: Partial<PolicyOptions> = {},
  plugins: (DynamicModule | Type)[] = [],
) {
  const directory = new FakeDirectory(workers);
  const events = new FakeEvents();
  const metrics = new FakeMetrics();
  @Global()
  @Module({
    providers: [
      { provide: WORKER_DIRECTORY, useValue: directory },
      { provide: WORKER_EVENTS, useValue: events },
      { provide: METRICS, useValue: metrics },
    ],
    exports: [WORKER_DIRECTORY, WORKER_EVENTS, METRICS],
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
      ...plugins,
    ],
  }).compile();
  await module.init();
  opened.push(module);
  const selector = module.get(WorkerSelector);
  return {
    module,
    directory,
    events,
    metrics,
    selector,
    chain: module.get(CandidateFilterChain),
    registry: module.get(PolicyRegistry),
    select: (headers: Record<string, string> = {}, avoid?: WorkerView, model = 'm') =>
      selector.select(directory.pool(model)!, fakeContext({ model, headers }), avoid),
  };
}

const opened: { close(): Promise<void> }[] = [];
beforeAll(() => {
  Logger.overrideLogger(false);
});
afterEach(async () => {
  for (const module of opened.splice(0)) await module.close();
});

const fleet = () => fakeWorkers(3, { modelId: 'm' });

describe('the filter chain', () => {
  it('orders filters by order, then name, and runs the label filter when a header is named', async () => {
    const { chain } = await boot(fleet(), { workerFilterHeader: ' X-Filter ' }, [
      filterModule(keeping('zeta', () => true)),
      filterModule(keeping('alpha', () => true)),
      filterModule(keeping('rl', () => true, { order: 100 })),
    ]);
    expect(chain.names).toEqual(['rl', 'label', 'alpha', 'zeta']);
  });

  it('has no filter of its own when no header is named', async () => {
    const { chain } = await boot(fleet(), { workerFilterHeader: '  ' });
    expect(chain.names).toEqual([]);
    const pool = fleet();
    expect(chain.apply(pool, fakeContext())).toBe(pool);
  });

  it.each([
    ['an illegal filter header', { workerFilterHeader: 'x y' }, [], /no legal header name/],
    ['a missing required filter', { requireFilters: ['rl'] }, [], /'rl' is required/],
    [
      'two filters of one name',
      {},
      [keeping('same', () => true), keeping('same', () => true)],
      /'same' is taken twice/,
    ],
    ['a nameless filter', {}, [keeping(' ', () => true)], /has no name/],
    ['an order that is no number', {}, [keeping('x', () => true, { order: NaN })], /finite number/],
  ])('%s stops the start', async (_, options, filters, message) => {
    await expect(
      Promise.resolve().then(() => boot(fleet(), options, filters.map(filterModule))),
    ).rejects.toThrow(message);
  });

  it.each<[string, CandidateFilter['filter']]>([
    [
      'throws',
      () => {
        throw new Error('secret detail');
      },
    ],
    ['adds a worker', (given) => [...given, fakeWorker({ url: 'http://intruder' })]],
    ['swaps a worker', (given) => [fakeWorker({ url: 'http://intruder' }), ...given.slice(1)]],
    ['reorders', (given) => [...given].reverse()],
    ['repeats a worker', (given) => [given[0]!, given[0]!]],
    ['returns nothing', () => undefined as unknown as readonly WorkerView[]],
    ['returns a promise', (async () => []) as unknown as CandidateFilter['filter']],
  ])('a filter that %s fails the request', async (_, filter) => {
    const bad = { name: 'bad', order: 300, filter };
    const { select } = await boot(fleet(), {}, [filterModule(bad)]);
    expect(() => select()).toThrow(
      expect.objectContaining({
        code: 'filter_failed',
        message: expect.not.stringContaining('secret'),
      }),
    );
  });
});

describe('nobody left', () => {
  const paused = (urls: string[]) =>
    keeping('rl', ({ url }) => !urls.includes(url), {
      order: 100,
      exhaustedCode: 'no_available_workers',
      explain: (given) => `${given.filter(({ url }) => urls.includes(url)).length} paused`,
    });
  const none = 'no_available_workers';

  it.each([
    ['a hard requirement alone', [keeping('gpu', () => false)], 'workers_filtered'],
    [
      'a requirement that may pass',
      [paused(['http://w0:8000', 'http://w1:8000', 'http://w2:8000'])],
      none,
    ],
    [
      'a conjunction only',
      [paused(['http://w0:8000']), keeping('gpu', ({ url }) => url === 'http://w0:8000')],
      none,
    ],
    [
      'a hard requirement behind one that dropped some',
      [paused(['http://w0:8000']), keeping('gpu', () => false)],
      'workers_filtered',
    ],
  ])('through %s', async (_, filters, code) => {
    const { select } = await boot(fleet(), {}, filters.map(filterModule));
    expect(select()).toMatchObject({ kind: 'all_filtered', code });
  });

  it('a filter hears once of each selection it narrowed, explained or not', async () => {
    const heard: string[] = [];
    const hearing = (name: string, keep: (worker: WorkerView) => boolean, order: number) =>
      keeping(name, keep, {
        order,
        onNarrowed: (given, kept) => heard.push(`${name} ${given.length} ${kept.length}`),
      });
    const filters = [
      hearing('rl', ({ url }) => url !== 'http://w0:8000', 100),
      hearing('quiet', () => true, 200),
      hearing('gpu', () => false, 300),
    ];
    const { select } = await boot(fleet(), {}, filters.map(filterModule));
    select();
    expect(heard).toEqual(['rl 3 2', 'gpu 2 0']);
  });

  it('says why in numbers that add up', async () => {
    const { select } = await boot(fleet(), { workerFilterHeader: 'x-filter' }, [
      filterModule(paused(['http://w0:8000'])),
      filterModule(keeping('gpu', () => false)),
    ]);
    expect(select()).toMatchObject({ reason: "1 paused, 2 excluded by filter 'gpu'" });
    expect(select({ 'x-filter': 'a=b' })).toMatchObject({
      reason: '1 paused, 2 without the labels asked for in x-filter',
    });
  });

  it('answers unavailable before any filter is asked', async () => {
    const workers = fleet().map((worker) => ({ ...worker, isAvailable: false }));
    const { select } = await boot(workers, {}, [filterModule(keeping('gpu', () => false))]);
    expect(select()).toEqual({ kind: 'no_candidates', cause: 'unavailable' });
  });
});

describe('WorkerSelector', () => {
  it('counts what it picked', async () => {
    const { select, metrics } = await boot(fleet());
    select();
    select();
    select({}, undefined, 'unknown');
    const value = (model: string) =>
      metrics.value('smg_worker_selection_total', 'regular', 'http', model, 'round_robin');
    expect([value('m'), value('unknown')]).toEqual([2, 1]);
  });

  it('caps the model names it counts by', async () => {
    const workers = Array.from({ length: 1100 }, (_, i) =>
      fakeWorker({ url: `http://w${i}`, modelId: `m${i}` }),
    );
    const { select, metrics } = await boot(workers);
    for (const { modelId } of workers) select({}, undefined, modelId);
    expect(metrics.series('smg_worker_selection_total')).toHaveLength(1025);
    expect(
      metrics.value('smg_worker_selection_total', 'regular', 'http', 'other', 'round_robin'),
    ).toBe(76);
  });

  it('leaves out the worker to avoid while another remains', async () => {
    const workers = fleet();
    const { select, directory } = await boot(workers);
    for (let i = 0; i < 6; i++) {
      expect(select({}, workers[1])).not.toMatchObject({ worker: workers[1] });
    }
    directory.remove('http://w0:8000').remove('http://w2:8000');
    expect(select({}, workers[1])).toEqual({ kind: 'selected', worker: workers[1] });
  });

  it.each<[string, RoutingPolicy['select']]>([
    [
      'throws',
      () => {
        throw new Error('x');
      },
    ],
    ['invents a worker', () => fakeWorker({ url: 'http://intruder' })],
  ])('fails the request when the policy %s', async (_, pick) => {
    const { select } = await boot(fleet(), { policy: 'odd' }, [
      policyModule({ name: 'odd', select: pick }),
    ]);
    expect(() => select()).toThrow(expect.objectContaining({ code: 'policy_failed' }));
  });

  it('answers declined when the policy does', async () => {
    const { select } = await boot(fleet(), { policy: 'shy' }, [
      policyModule({ name: 'shy', select: () => undefined }),
    ]);
    expect(select()).toEqual({ kind: 'no_candidates', cause: 'declined' });
  });
});

describe('x-smg-target-worker', () => {
  const honouring = policyModule({
    name: 'honouring',
    honoursTargetWorker: true,
    select: (candidates) => candidates[0],
  });
  // Workers 0, 2 and 3 survive; 1 is filtered out; 4 is not available.
  const setUp = () => {
    const workers = fakeWorkers(5, { modelId: 'm' });
    workers[4]!.isAvailable = false;
    return boot(workers, { policy: 'honouring' }, [
      honouring,
      filterModule(keeping('gpu', ({ url }) => url !== 'http://w1:8000')),
    ]);
  };

  it.each(['0', '2', '3'])('index %s names that worker of the unfiltered pool', async (index) => {
    const { select } = await setUp();
    expect(select({ 'x-smg-target-worker': index })).toMatchObject({
      kind: 'selected',
      worker: { url: `http://w${index}:8000` },
    });
  });

  it.each(['1', '4', '5', 'nope', '-1', '0x0', '1e0', '99999999999'])(
    'index %s is refused, never replaced',
    async (index) => {
      const { select } = await setUp();
      expect(select({ 'x-smg-target-worker': index })).toEqual({
        kind: 'no_candidates',
        cause: 'declined',
      });
    },
  );

  it('is not read by a policy that does not honour it', async () => {
    const { select } = await boot(fleet());
    expect(select({ 'x-smg-target-worker': 'nope' })).toMatchObject({ kind: 'selected' });
  });
});

describe('PolicyRegistry', () => {
  const hinted = (url: string, policy?: string, modelId = 'h') =>
    fakeWorker({ url, modelId, labels: policy === undefined ? {} : { policy } });

  it('refuses a factory that makes no policies, whether it is asked for or not', async () => {
    const plugin = factoryModule({ name: 'hollow' });
    await expect(boot([], {}, [plugin])).rejects.toThrow(
      "routing policy 'hollow' has no create() method",
    );
  });

  it('names the known policies when the default is unknown', async () => {
    await expect(boot([], { policy: 'nope' })).rejects.toThrow(
      "unknown policy 'nope'; known policies: bucket, cache_aware, consistent_hashing, least_load, manual, passthrough, power_of_two, prefix_hash, random, round_robin",
    );
  });

  it("takes the first worker's hint, ignores later ones, and drops it with the last worker", async () => {
    const first = hinted('http://a', 'passthrough');
    const { registry, events } = await boot([first]);
    const second = hinted('http://b', 'random');
    events.emit({ kind: 'registered', worker: second });
    expect(registry.policyFor('h').name).toBe('passthrough');
    events.emit({ kind: 'removed', worker: first });
    expect(registry.policyFor('h').name).toBe('passthrough');
    events.emit({ kind: 'removed', worker: second });
    expect(registry.policyFor('h').name).toBe('round_robin');
    events.emit({ kind: 'registered', worker: second });
    expect(registry.policyFor('h').name).toBe('random');
  });

  it('serves a model whose hint names no policy with the default', async () => {
    const { registry } = await boot([hinted('http://a', 'nope')]);
    expect(registry.policyFor('h')).toBe(registry.policyFor('anything else'));
  });

  it('moves a worker that was replaced under another model', async () => {
    const worker = hinted('http://a', 'random');
    const { registry, events } = await boot([worker]);
    events.emit({
      kind: 'replaced',
      worker: { ...worker, modelId: 'k', labels: new Map() },
      previousModelId: 'h',
      previousLabels: worker.labels,
    });
    expect(registry.policyFor('h').name).toBe('round_robin');
    expect(registry.policyFor('k').name).toBe('round_robin');
  });

  it('tells policies once about each worker, and about new weights of every rank', async () => {
    const calls: string[] = [];
    const note = (what: string) => (worker: WorkerView) => calls.push(`${what} ${worker.url}`);
    const ranks = [hinted('http://a@0'), hinted('http://a@1')];
    const { events, module } = await boot([...ranks, hinted('http://b')], { policy: 'spy' }, [
      policyModule({
        name: 'spy',
        select: () => undefined,
        addWorker: note('add'),
        resetWorker: note('reset'),
        removeWorker: note('remove'),
        dispose: () => calls.push('dispose'),
      }),
    ]);
    events.emit({ kind: 'registered', worker: ranks[0]! });
    events.emit({ kind: 'weights_changed', baseUrl: 'http://a' });
    events.emit({ kind: 'removed', worker: ranks[1]! });
    events.emit({ kind: 'removed', worker: ranks[1]! });
    await module.close();
    expect(events.subscribers).toBe(0);
    expect(calls).toEqual([
      'add http://a@0',
      'add http://a@1',
      'add http://b',
      'reset http://a@0',
      'reset http://a@1',
      'remove http://a@1',
      'dispose',
    ]);
  });
});
