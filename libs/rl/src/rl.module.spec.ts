import { Global, Module, type NestApplicationOptions } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  ENGINE_CATALOG,
  METRICS,
  WORKER_CALLER,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  WorkerCallError,
  type EngineAdapter,
} from '@smg/plugin-api';
import { FakeCaller, FakeDirectory, FakeEvents, FakeMetrics, fakeWorker } from '@smg/testing';
import { VersionTable } from './core/version-table';
import { RlModule } from './rl.module';

const ENGINE: EngineAdapter = {
  name: 'sglang',
  recognition: { ownedBy: [], order: 1 },
  discover: () => Promise.resolve({ labels: {} }),
  effectsOf: ({ path }) => (path === 'pause_generation' ? [{ kind: 'pause' }] : []),
};

interface Rig {
  readonly app: NestFastifyApplication;
  readonly directory: FakeDirectory;
  readonly events: FakeEvents;
  readonly caller: FakeCaller;
  readonly metrics: FakeMetrics;
  readonly table: VersionTable;
  ask(
    method: 'GET' | 'POST',
    url: string,
    body?: object,
  ): Promise<{ status: number; json: unknown }>;
}

/** The control plane over fakes: what the registry of this version cannot hold can be told here. */
async function boot(directory: FakeDirectory): Promise<Rig> {
  const events = new FakeEvents();
  const caller = new FakeCaller({ status: 200, body: { success: true } });
  const metrics = new FakeMetrics();
  const values = [
    { provide: METRICS, useValue: metrics },
    { provide: WORKER_CALLER, useValue: caller },
    { provide: WORKER_DIRECTORY, useValue: directory },
    { provide: WORKER_EVENTS, useValue: events },
    {
      provide: ENGINE_CATALOG,
      useValue: {
        all: () => [ENGINE],
        byName: (name: string) => (name === 'sglang' ? ENGINE : undefined),
      },
    },
  ];
  @Global()
  @Module({ providers: values, exports: values.map(({ provide }) => provide) })
  class Surroundings {}
  const options = { controlTimeoutSecs: 600, fanoutConcurrency: 32, versionPolicy: 'any' };
  const module = await Test.createTestingModule({
    imports: [Surroundings, RlModule.forRoot(options)],
  }).compile();
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares its option bag as a class and takes literals
  const nest: NestApplicationOptions = { bodyParser: false, logger: false };
  const app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), nest);
  const fastify = app.getHttpAdapter().getInstance();
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  await app.init();
  await fastify.ready();
  return {
    app,
    directory,
    events,
    caller,
    metrics,
    table: app.get(VersionTable),
    async ask(method, url, body) {
      const answer = await app.inject({
        method,
        url: `/v1/rl${url}`,
        ...(body === undefined
          ? {}
          : { payload: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      return { status: answer.statusCode, json: answer.json() };
    },
  };
}

describe('the control plane over workers of every kind', () => {
  const http = fakeWorker({ url: 'http://a:1', labels: { weight_version: '4' } });
  const grpc = fakeWorker({ url: 'http://b:1', connectionMode: 'grpc' });
  const zmq = fakeWorker({ url: 'http://c:1', connectionMode: 'zmq' });
  let rig: Rig;
  beforeEach(async () => {
    rig = await boot(new FakeDirectory([http, grpc, zmq]));
  });
  afterEach(() => rig.app.close());

  it('[RL37] a gRPC worker cannot be called: 422, and nothing is sent or counted', async () => {
    const { status, json } = await rig.ask(
      'POST',
      `/workers/${grpc.id}/engine/pause_generation`,
      {},
    );
    expect([status, json]).toEqual([
      422,
      {
        error: 'unsupported_connection_mode',
        message: `worker \`${grpc.id}\` uses connection mode \`grpc\`, which cannot be proxied`,
        worker_id: grpc.id,
        url: grpc.url,
        connection_mode: 'grpc',
      },
    ]);
    expect(rig.caller.calls).toHaveLength(0);
    expect(rig.metrics.series('smg_rl_control_calls_total')).toEqual([]);
    expect(rig.table.get(grpc.baseUrl)?.control).toBe('active');
  });

  it('[RL45] a fan-out names them among the failed', async () => {
    const { status, json } = await rig.ask(
      'POST',
      '/engine/flush_cache?selector=engine%3Dsglang',
      {},
    );
    expect(status).toBe(207);
    expect(json).toMatchObject({ total: 3, succeeded: 1 });
    const { failed, results } = json as { failed: object[]; results: object };
    expect(Object.keys(results)).toEqual([http.id]);
    expect(failed).toContainEqual(
      expect.objectContaining({ worker_id: zmq.id, connection_mode: 'zmq' }),
    );
  });

  it('[RL59] a state can be written for one: no engine is called', async () => {
    const { status, json } = await rig.ask('POST', `/workers/${grpc.id}/state`, {
      control: 'asleep',
    });
    expect([status, json]).toMatchObject([200, { control: 'asleep', connection_mode: 'grpc' }]);
    expect(rig.caller.calls).toHaveLength(0);
  });

  it('[RL25] an engine without an entry shows its raw label, and is active', async () => {
    rig.table.remove(http.baseUrl);
    const { json } = await rig.ask('GET', `/workers/${http.id}`);
    expect(json).toMatchObject({ weight_version: '4', version_source: null, control: 'active' });
  });

  it("sends the worker's key, one deadline, the cap, and the base URL", async () => {
    rig.directory.credentials.set(http.url, 'key');
    await rig.ask('POST', `/workers/${http.id}/engine/flush_cache?a=1&selector=x`, {});
    expect(rig.caller.calls).toMatchObject([
      {
        baseUrl: 'http://a:1',
        method: 'POST',
        path: '/flush_cache?a=1',
        apiKey: 'key',
        timeoutMs: 600_000,
        maxBodyBytes: 1_048_576,
        stopsAtLimit: true,
      },
    ]);
  });

  it('calls of one fan-out share a signal that takes any number of listeners', async () => {
    await rig.ask('POST', '/engine/flush_cache?selector=engine%3Dsglang', {});
    const signals = new Set(rig.caller.calls.map(({ signal }) => signal));
    expect(signals.size).toBe(1);
    const [signal = {}] = signals;
    // Node's own getMaxListeners refuses a signal of Jest's realm.
    const limits = Object.getOwnPropertySymbols(signal)
      .filter(({ description }) => description === 'events.maxEventTargetListeners')
      .map((symbol): unknown => Reflect.get(signal, symbol));
    expect(limits).toEqual([0]);
  });

  it('an engine whose adapter knows nothing is watched by what other adapters know', async () => {
    const other = fakeWorker({ url: 'http://d:1', runtime: 'generic' });
    rig.directory.add(other);
    rig.events.emit({ kind: 'registered', worker: other });
    await rig.ask('POST', `/workers/${other.id}/engine/pause_generation`, {});
    expect(rig.table.get(other.baseUrl)?.control).toBe('paused');
  });

  it('a failed call leaves the engine as it was', async () => {
    for (const failure of ['timeout', 'unreachable'] as const) {
      rig.caller.on('/pause_generation', () => {
        expect(rig.table.get(http.baseUrl)?.control).toBe('paused');
        return new WorkerCallError(failure, 'no');
      });
      const { status } = await rig.ask('POST', `/workers/${http.id}/engine/pause_generation`, {});
      expect(status).toBe(failure === 'timeout' ? 504 : 502);
      expect(rig.table.get(http.baseUrl)?.control).toBe('active');
      expect(rig.metrics.value('smg_rl_control_calls_total', 'pause_generation', failure)).toBe(1);
    }
  });

  it('a fault of ours is no answer of the control plane, and leaves nothing closed', async () => {
    rig.caller.on('/pause_generation', () => new Error('boom'));
    const { status } = await rig.ask('POST', `/workers/${http.id}/engine/pause_generation`, {});
    expect(status).toBe(500);
    expect(rig.table.get(http.baseUrl)?.control).toBe('active');
  });
});

describe('[RL18] a worker and a data-parallel group at one address', () => {
  it('are two rows', async () => {
    const rig = await boot(
      new FakeDirectory([
        fakeWorker({ url: 'http://b:1@1' }),
        fakeWorker({ url: 'http://b:1' }),
        fakeWorker({ url: 'http://b:1@0' }),
      ]),
    );
    const { json } = await rig.ask('GET', '/workers');
    expect(json).toMatchObject({
      total: 2,
      workers: [
        { url: 'http://b:1', dp_ranks: 1 },
        { url: 'http://b:1@0', dp_ranks: 2 },
      ],
    });
    await rig.app.close();
  });
});

describe('the table and the events of the registry', () => {
  const seeded = fakeWorker({ url: 'http://a:1@0', modelId: 'm', labels: { weight_version: '4' } });
  const rank = fakeWorker({ url: 'http://a:1@1', modelId: 'm' });
  let rig: Rig;
  beforeEach(async () => {
    rig = await boot(new FakeDirectory([seeded, rank]));
  });
  afterEach(async () => {
    await rig.app.close();
    expect(rig.events.subscribers).toBe(0);
  });
  const version = (): string | undefined => rig.table.get('http://a:1')?.version?.text;
  const flips = (): number =>
    rig.events.emitted.filter(({ kind }) => kind === 'weights_changed').length;

  it('[RL69] what is registered before the start is entered; seeding evicts nothing', () => {
    expect(version()).toBe('4');
    expect(flips()).toBe(0);
    rig.events.emit({
      kind: 'registered',
      worker: { ...seeded, labels: new Map([['weight_version', '9']]) },
    });
    expect(version()).toBe('4');
    expect(rig.metrics.value('smg_rl_worker_weight_version', 'http://a:1')).toBe(4);
  });

  it('[RL70] [RL71] another label re-seeds and evicts once; the same label changes nothing', async () => {
    await rig.ask('POST', `/workers/${seeded.id}/version`, { weight_version: '8' });
    expect(flips()).toBe(1);
    const previousLabels = seeded.labels;
    const event = { kind: 'replaced', previousLabels, previousModelId: 'm' } as const;
    rig.events.emit({ ...event, worker: seeded });
    expect([version(), flips()]).toEqual(['8', 1]);
    const worker = { ...seeded, labels: new Map([['weight_version', '5']]) };
    rig.events.emit({ ...event, worker });
    expect([version(), flips()]).toEqual(['5', 2]);
    rig.events.emit({
      ...event,
      previousLabels: worker.labels,
      worker: { ...seeded, labels: new Map() },
    });
    expect([version(), flips()]).toEqual([undefined, 3]);
    expect(rig.metrics.series('smg_rl_worker_weight_version')).toEqual([]);
  });

  it('a worker that serves another model counts for that one', () => {
    const worker = { ...seeded, modelId: 'n' };
    const { labels: previousLabels } = seeded;
    rig.events.emit({ kind: 'replaced', worker, previousLabels, previousModelId: 'm' });
    expect([rig.table.latest('m'), rig.table.latest('n')?.text]).toEqual([undefined, '4']);
  });

  it('[RL80] the entry goes with the last rank', () => {
    rig.directory.remove(seeded.url);
    rig.events.emit({ kind: 'removed', worker: seeded });
    expect(version()).toBe('4');
    rig.directory.remove(rank.url);
    rig.events.emit({ kind: 'removed', worker: rank });
    expect(rig.table.size).toBe(0);
    expect(rig.metrics.series('smg_rl_worker_weight_version')).toEqual([]);
  });
});
