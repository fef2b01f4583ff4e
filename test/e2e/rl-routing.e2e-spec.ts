import { Module } from '@nestjs/common';
import { ROUTING_POLICY, type RoutingPolicyFactory, type WorkerView } from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { sample } from './support/scrape';
import { generateAt, serversOf, startAll, startRl, urlsOf, type RlGateway } from './support/rl';

const POLICY = 'x-smg-version-policy';

describe('who gets requests', () => {
  const engines = Array.from({ length: 4 }, () => new MockEngine());
  const [a, b, c, d] = engines as [MockEngine, MockEngine, MockEngine, MockEngine];
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeEach(async () => {
    stop = await startAll(...engines);
    gateway = await startRl({}, { engines });
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
    for (const engine of engines) {
      engine.state.resume();
      engine.state.restore(['weights', 'kv_cache', 'cuda_graph']);
    }
  });

  it('[RL83] engines asleep, by API and by an observed call, get nothing while /workers says ready', async () => {
    await gateway.rl.setControl(a, 'asleep');
    await gateway.rl.call(b, 'release_memory_occupation');
    await gateway.rl.call(c, 'pause_generation');
    expect(await serversOf(gateway, 12)).toEqual({ workers: [d.url], statuses: [200] });
    const { workers } = await workersOf(gateway.url).list();
    expect(workers.map(({ status }) => status)).toEqual(['ready', 'ready', 'ready', 'ready']);
    await gateway.rl.setControl(a, 'active');
    await gateway.rl.call(b, 'resume_memory_occupation');
    expect((await serversOf(gateway, 12)).workers).toEqual(urlsOf(a, b, d));
  });

  it('[RL84] latest-only follows a rolling update', async () => {
    const latest = { [POLICY]: 'latest-only' };
    const serving = async () => serversOf(gateway, 12, latest);
    expect((await serving()).workers).toEqual(urlsOf(...engines));
    await gateway.rl.setVersion(a, '2');
    expect(await serving()).toEqual({ workers: [a.url], statuses: [200] });
    await gateway.rl.call(b, 'update_weight_version', { body: { new_version: '2' } });
    expect((await serving()).workers).toEqual(urlsOf(a, b));
    await gateway.rl.setFleetVersion('2', 'engine=sglang');
    expect((await serving()).workers).toEqual(urlsOf(...engines));
    await gateway.rl.setVersion(d, '3');
    expect((await serving()).workers).toEqual([d.url]);
    for (const row of await gateway.rl.rows()) expect(row['version_source']).toBe('api');
  });

  it('[RL86] the header replaces the configured policy for its request', async () => {
    await gateway.rl.setVersion(a, '2');
    await gateway.rl.setVersion(b, '1');
    for (const [policy, workers] of [
      ['latest-only', urlsOf(a)],
      [' latest-only ', urlsOf(a)],
      ['max-staleness:1', urlsOf(a, b)],
      ['max-staleness:0', urlsOf(a)],
      ['min-version:1', urlsOf(a, b)],
      ['min-version:2', urlsOf(a)],
      ['any', urlsOf(...engines)],
    ] as const) {
      expect([policy, (await serversOf(gateway, 8, { [POLICY]: policy })).workers]).toEqual([
        policy,
        workers,
      ]);
    }
    const bad = await generateAt(gateway, { [POLICY]: 'newest' });
    expect([bad.status, bad.json['error']]).toEqual([400, 'invalid_version_policy']);
    expect(a.requestsTo('/generate').at(-1)?.values(POLICY)).toEqual([]);
  });

  it('[RL85] [RL87] decision 7: nobody left is 503 with the reasons in numbers', async () => {
    for (const engine of [a, b]) await gateway.rl.setControl(engine, 'paused');
    await gateway.rl.setVersion(c, '42');
    await gateway.rl.setControl(c, 'asleep');
    await gateway.rl.setVersion(d, '41');
    const got = await generateAt(gateway, { [POLICY]: 'latest-only' });
    expect(got.status).toBe(503);
    expect(got.headers['x-smg-error-code']).toBe('no_available_workers');
    expect(got.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(got.headers['x-smg-weight-version']).toBeUndefined();
    expect(got.json['error']).toEqual({
      type: 'Service Unavailable',
      code: 'no_available_workers',
      message: "no worker is eligible for model 'unknown': 2 paused, 1 asleep, 1 stale (latest 42)",
      param: null,
    });
    await gateway.rl.call(a, 'continue_generation');
    expect((await generateAt(gateway)).status).toBe(200);
  });

  it('[RL105] counts what a selection dropped, once, and what it could not place', async () => {
    await gateway.rl.setControl(a, 'paused');
    await gateway.rl.setControl(b, 'asleep');
    await gateway.rl.setVersion(c, '5');
    await generateAt(gateway, { [POLICY]: 'latest-only' });
    const page = await gateway.metrics();
    const of = (reason: string): number =>
      sample(page, 'smg_rl_candidates_filtered_total', { reason });
    expect([of('paused'), of('asleep'), of('unversioned'), of('stale')]).toEqual([1, 1, 1, 0]);
    expect(page).not.toContain('smg_rl_requests_unroutable_total');
    await generateAt(gateway, { [POLICY]: 'min-version:6' });
    const after = await gateway.metrics();
    expect(sample(after, 'smg_rl_requests_unroutable_total')).toBe(1);
    expect(sample(after, 'smg_rl_candidates_filtered_total', { reason: 'paused' })).toBe(2);
    expect(sample(after, 'smg_rl_candidates_filtered_total', { reason: 'stale' })).toBe(1);
  });

  it('decision 11: no request goes to an engine whose pause is on its way', async () => {
    a.behave({ route: '/pause_generation', delayMs: 300, times: 1 });
    const pausing = gateway.rl.call(a, 'pause_generation');
    await a.waitUntil(() => a.requestsTo('/pause_generation').length > 0);
    const before = a.requestsTo('/generate').length;
    expect((await serversOf(gateway, 12)).workers).toEqual(urlsOf(b, c, d));
    await pausing;
    expect(a.requestsTo('/generate')).toHaveLength(before);
  });

  it('overlapping calls compose: one that fails does not open what another closed', async () => {
    a.behave({ route: '/pause_generation', delayMs: 150, status: 500, times: 1 });
    const failing = gateway.rl.call(a, 'pause_generation');
    await a.waitUntil(() => a.requestsTo('/pause_generation').length > 0);
    await gateway.rl.call(a, 'release_memory_occupation');
    expect((await failing).status).toBe(500);
    expect(await gateway.rl.row(a)).toMatchObject({ control: 'asleep' });
    await gateway.rl.call(a, 'resume_memory_occupation');
    expect(await gateway.rl.row(a)).toMatchObject({ control: 'active' });
  });

  it('an engine that dies of a call is unreachable, and counts as it was before', async () => {
    const before = a.requestsTo('/release_memory_occupation').length;
    a.behave({ route: '/release_memory_occupation', cut: { how: 'reset', at: 'request' } });
    const got = await gateway.rl.call(a, 'release_memory_occupation');
    expect([got.status, got.json['error']]).toEqual([502, 'upstream_unreachable']);
    expect(await gateway.rl.row(a)).toMatchObject({ control: 'active' });
    // Not sent twice: a control call is not idempotent.
    expect(a.requestsTo('/release_memory_occupation')).toHaveLength(before + 1);
    a.behaveNormally();
  });

  it('numbers and text compared: one warning for the process', async () => {
    await gateway.rl.setVersion(a, '7');
    for (let i = 0; i < 3; i += 1) {
      await gateway.rl.setVersion(b, `ckpt-${i}`);
      await generateAt(gateway, { [POLICY]: 'min-version:3' });
    }
    const warned = gateway.logs.filter(
      ({ level, msg }) => level === 'warn' && String(msg).includes('compared with a text'),
    );
    expect(warned).toHaveLength(1);
  });
});

@Module({
  providers: [
    ...ROUTING_POLICY.provide({
      label: 'first',
      useFactory: (): RoutingPolicyFactory => ({
        name: 'first',
        create: () => ({
          name: 'first',
          honoursTargetWorker: true,
          select: (candidates: readonly WorkerView[]) => candidates[0],
        }),
      }),
    }),
  ],
})
class FirstPolicy {}

describe('a narrowed fleet', () => {
  const engines = [new MockEngine(), new MockEngine(), new MockEngine()] as const;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(...engines);
    gateway = await startRl({ routing: { policy: 'first' } }, { plugins: [FirstPolicy] });
    for (const { url } of engines) await workersOf(gateway.url).added({ url });
    await gateway.rl.setControl(engines[1], 'paused');
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it.each([
    ['0', engines[0]],
    ['1', undefined],
    ['2', engines[2]],
    ['3', undefined],
    ['nope', undefined],
  ])(
    '[RL89] decision 8: target worker %s counts in the unfiltered slice',
    async (index, engine) => {
      const got = await generateAt(gateway, { 'x-smg-target-worker': index });
      if (engine === undefined) expect(got.status).toBe(503);
      else expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    },
  );

  it('[RL90] a filter that keeps everyone changes nothing', async () => {
    await gateway.rl.setControl(engines[1], 'active');
    const got = await generateAt(gateway);
    expect(got.headers['x-smg-routed-worker-id']).toBe(engines[0].url);
    await gateway.rl.setControl(engines[0], 'paused');
    const narrowed = await generateAt(gateway);
    expect(narrowed.headers['x-smg-routed-worker-id']).toBe(engines[1].url);
    await gateway.rl.setControl(engines[0], 'active');
  });
});

describe('RL beside the label filter', () => {
  const engine = new MockEngine();
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl({ routing: { workerFilterHeader: 'x-pool' } });
    await workersOf(gateway.url).added({ url: engine.url, labels: { pool: 'a' } });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('decision 7: RL first; workers_filtered only when labels alone leave nobody', async () => {
    const code = async (pool: string): Promise<unknown> =>
      (await generateAt(gateway, { 'x-pool': `pool=${pool}` })).headers['x-smg-error-code'];
    expect(gateway.rawLogs.join('')).toContain('rl(100) → label(200)');
    expect(await code('b')).toBe('workers_filtered');
    await gateway.rl.setControl(engine, 'paused');
    expect(await code('a')).toBe('no_available_workers');
    expect(await code('b')).toBe('workers_filtered');
  });
});

describe('requests that wait for an engine', () => {
  it('[RL88] a request in the retry loop is served when the engine resumes within its budget', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startRl(
      { retry: { maxAttempts: 30, initialBackoffMs: 20, maxBackoffMs: 50 } },
      { engines: [engine] },
    );
    await gateway.rl.call(engine, 'pause_generation');
    const waiting = generateAt(gateway);
    await until('it was turned away', async () =>
      (await gateway.metrics()).includes('smg_rl_requests_unroutable_total'),
    );
    await gateway.rl.call(engine, 'continue_generation');
    const got = await waiting;
    expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, engine.url]);
    await gateway.close();
    await engine.stop();
  });
});

describe('cached prefixes', () => {
  it('[RL103] section 9: a version change forgets what the engine had cached, a state change does not', async () => {
    const engines = [new MockEngine(), new MockEngine()] as const;
    const stop = await startAll(...engines);
    const gateway = await startRl({ routing: { policy: 'cache_aware' } }, { engines });
    const text = 'The same long prefix of a prompt that every rollout shares. '.repeat(20);
    const ask = async (): Promise<string> =>
      String(
        (await send(`${gateway.url}/generate`, { body: { text } })).headers[
          'x-smg-routed-worker-id'
        ],
      );
    const first = await ask();
    for (let i = 0; i < 5; i += 1) expect(await ask()).toBe(first);
    const [home, other] =
      engines[0].url === first ? [engines[0], engines[1]] : [engines[1], engines[0]];
    await gateway.rl.setControl(home, 'paused');
    await gateway.rl.setControl(home, 'active');
    expect(await ask()).toBe(first);
    // Warm the other one as well, then flip the first: what is left points to the other.
    await gateway.rl.setControl(home, 'paused');
    expect(await ask()).toBe(other.url);
    await gateway.rl.setControl(home, 'active');
    await gateway.rl.setVersion(home, '2');
    for (let i = 0; i < 5; i += 1) expect(await ask()).toBe(other.url);
    await gateway.close();
    await stop();
  });
});
