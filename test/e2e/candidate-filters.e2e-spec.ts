import { Module } from '@nestjs/common';
import {
  CANDIDATE_FILTER,
  ROUTING_POLICY,
  type CandidateFilter,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type WorkerView,
} from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { workersOf } from '../support/workers';

const FILTER = 'x-worker-filter';

describe('the label filter (--worker-filter-header)', () => {
  let gateway: RunningGateway;
  let acme: MockEngine;
  let other: MockEngine;
  const ask = (filter?: string | string[], more: object = {}): Promise<Answer> =>
    send(`${gateway.url}/v1/completions`, {
      headers: filter === undefined ? {} : { [FILTER]: filter },
      body: { model: 'mock-model', prompt: 'x', ...more },
    });
  /** Who serves six such requests. */
  const servers = async (filter?: string | string[]): Promise<string[]> => {
    const seen = new Set<string>();
    for (let i = 0; i < 6; i += 1) {
      const got = await ask(filter);
      expect(got.status).toBe(200);
      seen.add(String(got.headers['x-smg-routed-worker-id']));
    }
    return [...seen].sort();
  };

  beforeAll(async () => {
    [acme, other] = [await new MockEngine().start(), await new MockEngine().start()];
    gateway = await startGateway({
      routing: { policy: 'round_robin', workerFilterHeader: FILTER },
      retry: { maxAttempts: 2, initialBackoffMs: 1 },
    });
    const workers = workersOf(gateway.url);
    await workers.added({
      url: acme.url,
      labels: { tenant: 'acme', tier: 'gpu-h100', flag: '' },
    });
    await workers.added({ url: other.url, labels: { tenant: 'other', tier: 'gpu-h100' } });
  });
  afterAll(async () => {
    await Promise.all([acme.stop(), other.stop()]);
    await gateway.close();
  });

  it('[G121] keeps the workers that hold every pair; no header keeps all', async () => {
    expect(await servers('tenant=acme, tier=gpu-h100')).toEqual([acme.url]);
    expect(await servers('tier=gpu-h100')).toEqual([acme.url, other.url].sort());
    expect(await servers()).toEqual([acme.url, other.url].sort());
    expect(await servers('tenant=other')).toEqual([other.url]);
  });

  it('[G122] only well-formed pairs count; an empty value matches an empty label', async () => {
    expect(await servers('garbage, =nokey, tenant=acme')).toEqual([acme.url]);
    expect(await servers('garbage')).toEqual([acme.url, other.url].sort());
    expect(await servers('flag=')).toEqual([acme.url]);
    expect(await servers('')).toEqual([acme.url, other.url].sort());
  });

  it('[G123] nobody left: 503 workers_filtered, after retries, with the reason in numbers', async () => {
    const got = await ask('tenant=nobody');
    expect(got.status).toBe(503);
    expect(got.headers['x-smg-error-code']).toBe('workers_filtered');
    expect(got.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(got.json['error']).toMatchObject({
      type: 'Service Unavailable',
      code: 'workers_filtered',
      param: null,
    });
    expect(got.json['error'].message).toContain("'mock-model'");
    expect(got.json['error'].message).toMatch(/\b2\b/);
    expect(got.json['error'].message).not.toContain('nobody');
  });

  it('[G123] an unknown model is still 404', async () => {
    const got = await ask('tenant=nobody', { model: 'unheard-of' });
    expect([got.status, got.json['error'].code]).toEqual([404, 'model_not_found']);
  });

  it('the header goes no further than the gateway', async () => {
    await ask('tenant=acme');
    expect(acme.requestsTo('/v1/completions').at(-1)?.values(FILTER)).toEqual([]);
  });

  it('a label that is patched counts at once', async () => {
    const workers = workersOf(gateway.url);
    const { id } = await workers.byUrl(other.url);
    await send(`${gateway.url}/workers/${id}`, {
      method: 'PATCH',
      body: { labels: { zone: 'b' } },
    });
    while ((await ask('zone=b')).status !== 200) await new Promise(setImmediate);
    expect(await servers('zone=b')).toEqual([other.url]);
  });

  it('labels of the object prototype match nothing', async () => {
    for (const pair of ['constructor=', '__proto__=', 'toString=x']) {
      expect([pair, (await ask(pair)).status]).toEqual([pair, 503]);
    }
  });

  it('decision 7: workers_filtered is tried again, and served when a worker qualifies meanwhile', async () => {
    const patient = await startGateway(
      {
        routing: { workerFilterHeader: FILTER },
        retry: { maxAttempts: 6, initialBackoffMs: 150, jitterFactor: 0 },
      },
      { engines: [acme] },
    );
    try {
      const workers = workersOf(patient.url);
      const { id } = await workers.byUrl(acme.url);
      const pending = send(`${patient.url}/v1/completions`, {
        headers: { [FILTER]: 'late=yes' },
        body: { model: 'mock-model', prompt: 'x' },
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      await send(`${patient.url}/workers/${id}`, {
        method: 'PATCH',
        body: { labels: { late: 'yes' } },
      });
      expect((await pending).status).toBe(200);
    } finally {
      await patient.close();
    }
  });
});

/** Takes the last; honours `x-smg-target-worker`. */
class LastPolicy implements RoutingPolicy {
  readonly name = 'last';
  readonly honoursTargetWorker = true;
  select(candidates: readonly WorkerView[]): WorkerView | undefined {
    return candidates.at(-1);
  }
}

@Module({
  providers: [
    ...ROUTING_POLICY.provide({
      label: 'last',
      useFactory: (): RoutingPolicyFactory => ({ name: 'last', create: () => new LastPolicy() }),
    }),
  ],
})
class LastPolicyPlugin {
  static readonly smgPluginApi = '^1.0.0';
}

describe('decision 8: x-smg-target-worker', () => {
  let gateway: RunningGateway;
  let engines: MockEngine[];
  const ask = (target: string, filter?: string): Promise<Answer> =>
    send(`${gateway.url}/v1/completions`, {
      headers: {
        'x-smg-target-worker': target,
        ...(filter === undefined ? {} : { [FILTER]: filter }),
      },
      body: { model: 'mock-model', prompt: 'x' },
    });

  beforeAll(async () => {
    engines = await Promise.all(Array.from({ length: 3 }, () => new MockEngine().start()));
    gateway = await startGateway(
      {
        routing: { policy: 'last', workerFilterHeader: FILTER },
        retry: { maxAttempts: 2, initialBackoffMs: 1 },
        breaker: { failureThreshold: 1, timeoutSecs: 60 },
      },
      { plugins: [LastPolicyPlugin] },
    );
    const workers = workersOf(gateway.url);
    for (const [at, { url }] of engines.entries()) {
      await workers.added({ url, labels: { at: String(at), tier: at === 0 ? 'a' : 'b' } });
    }
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await gateway.close();
  });

  it('names a worker of the unfiltered slice: the index means the same with a filter and without', async () => {
    for (const [at, { url }] of engines.entries()) {
      expect((await ask(String(at))).headers['x-smg-routed-worker-id']).toBe(url);
    }
    const filtered = await ask('1', 'tier=b');
    expect([filtered.status, filtered.headers['x-smg-routed-worker-id']]).toEqual([
      200,
      engines[1]?.url,
    ]);
  });

  it('503, never another worker, when that worker was filtered out, is unavailable or does not exist', async () => {
    engines[1]?.behave({ route: '/v1/completions', status: 500, times: 1 });
    // Opens the breaker of the second; the retry finds it unavailable.
    expect((await ask('1')).status).toBe(503);
    const served = engines.map((engine) => engine.counters.received);
    for (const [target, filter] of [
      ['0', 'tier=b'],
      ['1', undefined],
      ['3', undefined],
      ['-1', undefined],
      ['x', undefined],
      ['1.5', undefined],
      ['99999999999999999999', undefined],
    ] as const) {
      const got = await ask(target, filter);
      expect([target, got.status, got.json['error'].code]).toEqual([
        target,
        503,
        'no_available_workers',
      ]);
    }
    expect(engines.map((engine) => engine.counters.received)).toEqual(served);
  });
});

class NobodyFilter implements CandidateFilter {
  readonly name = 'nobody';
  readonly order = 400;
  filter(): readonly WorkerView[] {
    return [];
  }
}
class HalfFilter implements CandidateFilter {
  readonly name = 'half';
  readonly order = 350;
  filter(candidates: readonly WorkerView[]): readonly WorkerView[] {
    return candidates.slice(0, 1);
  }
}
class ThrowingFilter implements CandidateFilter {
  readonly name = 'throwing';
  readonly order = 340;
  filter(): readonly WorkerView[] {
    throw new Error('canary-secret-of-a-plugin');
  }
}

describe('filters of plug-ins', () => {
  const boot = async (
    filters: (new () => CandidateFilter)[],
    test: (gateway: RunningGateway, engines: MockEngine[]) => Promise<void>,
  ): Promise<void> => {
    @Module({ providers: filters.flatMap((filter) => [...CANDIDATE_FILTER.provide(filter)]) })
    class TestPlugin {
      static readonly smgPluginApi = '^1.0.0';
    }
    const engines = [await new MockEngine().start(), await new MockEngine().start()];
    const gateway = await startGateway(
      { routing: { policy: 'round_robin' }, retry: { maxAttempts: 2, initialBackoffMs: 1 } },
      { engines, plugins: [TestPlugin] },
    );
    try {
      await test(gateway, engines);
    } finally {
      await gateway.close();
      await Promise.all(engines.map((engine) => engine.stop()));
    }
  };
  const ask = (gateway: RunningGateway): Promise<Answer> =>
    send(`${gateway.url}/generate`, { body: { text: 'x' } });

  it('decision 7: one that leaves nobody is 503 workers_filtered, and says who did it', async () => {
    await boot([NobodyFilter, HalfFilter], async (gateway, engines) => {
      const got = await ask(gateway);
      expect([got.status, got.json['error'].code]).toEqual([503, 'workers_filtered']);
      expect(got.json['error'].message).toContain('nobody');
      expect(engines.map((engine) => engine.counters.of('/generate'))).toEqual([0, 0]);
    });
  });

  it('are ANDed: what one leaves the next narrows', async () => {
    await boot([HalfFilter], async (gateway, engines) => {
      for (let i = 0; i < 4; i += 1) expect((await ask(gateway)).status).toBe(200);
      const served = engines.map((engine) => engine.counters.of('/generate')).sort();
      expect(served).toEqual([0, 4]);
    });
  });

  it('one that throws fails closed: a clear error, no worker, no stack trace, the gateway lives', async () => {
    await boot([ThrowingFilter], async (gateway, engines) => {
      const got = await ask(gateway);
      expect(got.status).toBeGreaterThanOrEqual(500);
      expect(typeof got.json['error'].code).toBe('string');
      expect(got.text).not.toMatch(/canary|\n\s+at /);
      expect(engines.map((engine) => engine.counters.of('/generate'))).toEqual([0, 0]);
      expect((await send(`${gateway.url}/health`)).status).toBe(200);
    });
  });
});

describe('the start is refused', () => {
  it('[G124] with a header name that is none', async () => {
    await expect(startGateway({ routing: { workerFilterHeader: 'not a header' } })).rejects.toThrow(
      /worker-filter-header|workerFilterHeader/,
    );
  });

  it('without a filter that is required', async () => {
    await expect(startGateway({ plugins: { requiredFilters: ['gpu-class'] } })).rejects.toThrow(
      /gpu-class/,
    );
  });

  it('a blank header name means off', async () => {
    const gateway = await startGateway({ routing: { workerFilterHeader: ' ' } });
    await gateway.close();
  });
});
