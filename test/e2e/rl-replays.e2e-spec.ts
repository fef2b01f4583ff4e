import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { generateAt, serversOf, startAll, startRl, urlsOf, type RlGateway } from './support/rl';
import { sample } from './support/scrape';

// Faults of rollout routers that users reported in public, each as a small scenario.

const PATIENT = { maxAttempts: 60, initialBackoffMs: 10, maxBackoffMs: 50 };
const LATEST = { 'x-smg-version-policy': 'latest-only' };

const workerOf = ({ headers }: Answer): unknown => headers['x-smg-routed-worker-id'];

describe('two engines', () => {
  let e1: MockEngine;
  let e2: MockEngine;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeEach(async () => {
    e1 = new MockEngine({ tokens: 2, keepRequests: 5_000 });
    e2 = new MockEngine({ tokens: 2, keepRequests: 5_000 });
    stop = await startAll(e1, e2);
    gateway = await startRl(
      {
        rl: { controlTimeoutSecs: 1 },
        health: { drainSettleSecs: 0 },
        retry: PATIENT,
        breaker: { disabled: true },
      },
      { engines: [e1, e2] },
    );
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
  });
  const readd = async (engine: MockEngine, labels: Record<string, string>): Promise<void> => {
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(engine.url)).id);
    await until('it is gone', async () => (await workers.list()).total === 1);
    await workers.added({ url: engine.url, labels });
  };

  it('[#1] an engine that came back with base weights gets nothing until it is refitted', async () => {
    await gateway.rl.setFleetVersion('7', 'engine=sglang');
    e2.crash();
    await e2.start();
    await readd(e2, { weight_version: 'default' });
    expect(await serversOf(gateway, 100, LATEST)).toEqual({ workers: [e1.url], statuses: [200] });
    await gateway.rl.call(e2, 'update_weights_from_disk', { body: { weight_version: '7' } });
    expect((await serversOf(gateway, 10, LATEST)).workers).toEqual(urlsOf(e1, e2));
  });

  it('[#7] a refit that says success:false in a fan-out is not believed, the others are', async () => {
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    e1.behave({ route: '/update_weights_from_disk', body: { success: false, message: 'OOM' } });
    const got = await gateway.rl.fanout('update_weights_from_disk', 'engine=sglang', {
      body: { model_path: '/ckpt', weight_version: '2' },
    });
    expect(got.json['results'][await gateway.rl.id(e1)].body.success).toBe(false);
    expect([
      (await gateway.rl.row(e1))['weight_version'],
      (await gateway.rl.row(e2))['weight_version'],
    ]).toEqual(['1', '2']);
    expect((await serversOf(gateway, 10, LATEST)).workers).toEqual([e2.url]);
  });

  it('[#9] a chunk that failed publishes nothing, nor do those before it', async () => {
    await gateway.rl.setVersion(e1, '1');
    const chunk = (body: object): Promise<Answer> =>
      gateway.rl.call(e1, 'update_weights_from_distributed', { body });
    await chunk({ names: ['a'] });
    e1.behave({ route: '/update_weights_from_distributed', status: 500, times: 1 });
    await chunk({ names: ['b'], weight_version: '2' });
    expect((await gateway.rl.row(e1))['weight_version']).toBe('1');
    await chunk({ names: ['b'], weight_version: '2' });
    expect((await gateway.rl.row(e1))['weight_version']).toBe('2');
  });

  it('[#66] an update that failed leaves the others serving, and the failed one as it was', async () => {
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    e1.behave({ route: '/update_weights_from_disk', status: 500 });
    await gateway.rl.call(e1, 'pause_generation');
    const failed = await gateway.rl.call(e1, 'update_weights_from_disk', {
      body: { weight_version: '2' },
    });
    expect(failed.status).toBe(500);
    for (const headers of [{}, LATEST]) {
      const { workers, statuses } = await serversOf(gateway, 6, headers);
      expect([workers, statuses]).toEqual([[e2.url], [200]]);
    }
    await gateway.rl.call(e1, 'continue_generation');
    expect(await gateway.rl.row(e1)).toMatchObject({ weight_version: '1', control: 'active' });
    expect((await serversOf(gateway, 6, LATEST)).workers).toEqual(urlsOf(e1, e2));
  });

  it('[#21] a drain ends under traffic, because nothing new arrives once it began', async () => {
    let isOver = false;
    const answers: Answer[] = [];
    const load = Promise.all(
      Array.from({ length: 10 }, async () => {
        while (!isOver) {
          answers.push(await generateAt(gateway));
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }),
    );
    await e1.waitUntil(() => answers.length >= 20);
    // An engine that takes long over its pause: it waits for what runs.
    e1.behave({ route: '/pause_generation', delayMs: 300, times: 1 });
    await gateway.rl.call(e1, 'pause_generation', { body: { mode: 'retract' } });
    isOver = true;
    await load;
    const pausedAt = e1.requests.findIndex(({ route }) => route === '/pause_generation');
    const late = e1.requests.slice(pausedAt).filter(({ route }) => route === '/generate');
    expect(late).toEqual([]);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(e2.requestsTo('/generate').length).toBeGreaterThan(50);
  });

  it('[#22] requests of a fleet-wide pause wait at the gateway, and see the new version alone', async () => {
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    await gateway.rl.fanout('pause_generation', 'engine=sglang');
    const seen = e1.counters.of('/generate') + e2.counters.of('/generate');
    const waiting = Array.from({ length: 20 }, () => generateAt(gateway));
    await until('all were turned away', async () => {
      return sample(await gateway.metrics(), 'smg_rl_requests_unroutable_total') >= 20;
    });
    const refit = await gateway.rl.fanout('update_weights_from_disk', 'engine=sglang', {
      body: { weight_version: '2' },
    });
    expect(refit.status).toBe(200);
    expect(e1.counters.of('/generate') + e2.counters.of('/generate')).toBe(seen);
    await gateway.rl.fanout('continue_generation', 'engine=sglang');
    for (const got of await Promise.all(waiting)) {
      expect([got.status, got.headers['x-smg-weight-version']]).toEqual([200, '2']);
      const spans = got.json['meta_info'].weight_versions as { version: string }[];
      expect(spans.map(({ version }) => version)).toEqual(['2']);
      expect(got.headers['x-smg-weight-version-start']).toBeUndefined();
    }
  });

  it('[#32] a fleet pause ends when the last engine has agreed; all are closed from its start', async () => {
    e2.behave({ route: '/pause_generation', delayMs: 800, times: 1 });
    const startedAt = performance.now();
    const pausing = gateway.rl.fanout('pause_generation', 'engine=sglang');
    const controls = async (): Promise<unknown[]> =>
      (await gateway.rl.rows()).map(({ control }) => control as unknown);
    await until('both are closed', async () => (await controls()).every((c) => c === 'paused'));
    expect(performance.now() - startedAt).toBeLessThan(700);
    const got = await pausing;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(790);
    expect([got.status, got.json['succeeded'], got.json['failed']]).toEqual([200, 2, []]);
  });

  it('[#24] an engine that dies of a release is 502, and the table does not call it asleep', async () => {
    const frail = await new MockEngine({ releaseWhenBusy: 'crash', latencyMs: 5_000 }).start();
    await workersOf(gateway.url).added({ url: frail.url });
    for (const engine of [e1, e2]) await gateway.rl.setControl(engine, 'paused');
    const running = generateAt(gateway).catch(() => undefined);
    await frail.waitUntil(() => frail.state.running.size === 1);
    const got = await gateway.rl.call(frail, 'release_memory_occupation');
    expect([got.status, got.json['error']]).toEqual([502, 'upstream_unreachable']);
    expect((await gateway.rl.row(frail))['control']).toBe('active');
    for (const engine of [e1, e2]) await gateway.rl.setControl(engine, 'active');
    await running;
    await frail.stop();
  });

  it('[#41] a control call has a deadline, and is sent once', async () => {
    const hang = { how: 'hang', at: 'request' } as const;
    e1.behave({ route: '/update_weights_from_disk', cut: hang, times: 1 });
    const got = await gateway.rl.call(e1, 'update_weights_from_disk', {
      body: { weight_version: '9' },
    });
    expect([got.status, got.json['error']]).toEqual([504, 'upstream_timeout']);
    expect(e1.requestsTo('/update_weights_from_disk')).toHaveLength(1);
    expect((await gateway.rl.row(e1))['weight_version']).toBeNull();
  });

  it('[#46] registering again leaves one engine, with what is known of it', async () => {
    await gateway.rl.setVersion(e1, '3');
    await gateway.rl.setControl(e1, 'paused');
    for (let i = 0; i < 5; i += 1) {
      const again = await send(`${gateway.url}/workers`, { body: { url: e1.url } });
      expect(again.status).toBeLessThan(500);
    }
    expect(await gateway.rl.rows()).toHaveLength(2);
    expect(await gateway.rl.row(e1)).toMatchObject({ weight_version: '3', control: 'paused' });
    expect(await serversOf(gateway, 10)).toEqual({ workers: [e2.url], statuses: [200] });
  });

  it('[#97] engines that came and went leave no series', async () => {
    const series = async (): Promise<string[]> =>
      (await gateway.metrics()).split('\n').filter((line) => line.startsWith('smg_rl_worker_'));
    await gateway.rl.setVersion(e1, '1');
    const workers = workersOf(gateway.url);
    const before = await series();
    for (let i = 0; i < 20; i += 1) {
      const passing = await new MockEngine({ keepRequests: 0 }).start();
      const id = await workers.added({ url: passing.url, labels: { weight_version: String(i) } });
      await gateway.rl.setControl(passing, i % 2 === 0 ? 'paused' : 'asleep');
      await gateway.rl.setVersion(passing, '99');
      await workers.remove(id);
      await until('it is gone', async () => (await workers.list()).total === 2);
      // A late answer must not hold the fleet's latest version up.
      expect((await generateAt(gateway, { 'x-smg-version-policy': 'latest-only' })).status).toBe(
        200,
      );
      await passing.stop();
    }
    expect(await series()).toEqual(before);
  });
});

describe('the words of the protocol reach the engine as they were', () => {
  it.each([
    ['sglang', 'pause_generation', '', '{"mode":"abort"}'],
    ['sglang', 'pause_generation', '', '{ "mode" : "retract" }'],
    ['sglang', 'pause_generation', '', '{"mode":"in_place","x":9007199254740993}'],
    ['vllm', 'pause', 'mode=abort', ''],
    ['vllm', 'pause', 'mode=wait&clear_cache=false', ''],
    ['vllm', 'pause', 'mode=keep', ''],
  ] as const)('[#26] how to pause: %s, %s ?%s %s', async (kind, path, query, body) => {
    const engine = await new MockEngine({ kind }).start();
    const gateway = await startRl({}, { engines: [engine] });
    const got = await gateway.rl.call(engine, query === '' ? path : `${path}?${query}`, {
      body: body === '' ? undefined : body,
    });
    expect(got.status).toBe(200);
    const sent = engine.requestsTo(`/${path}`).at(-1);
    expect([sent?.path, sent?.body.toString()]).toEqual([
      query === '' ? `/${path}` : `/${path}?${query}`,
      body,
    ]);
    expect((await gateway.rl.row(engine))['control']).toBe('paused');
    await gateway.close();
    await engine.stop();
  });

  it('[#6] weights that were sent are not the version; the end of the update publishes it', async () => {
    const engine = await new MockEngine({ kind: 'vllm' }).start();
    const gateway = await startRl({}, { engines: [engine] });
    const version = async (): Promise<unknown> => (await gateway.rl.row(engine))['weight_version'];
    await gateway.rl.setVersion(engine, '1');
    await gateway.rl.call(engine, 'start_weight_update', { body: {} });
    await gateway.rl.call(engine, 'update_weights', { body: { weight_version: '2' } });
    expect(await version()).toBe('1');
    engine.behave({ route: '/finish_weight_update', status: 500, times: 1 });
    await gateway.rl.call(engine, 'finish_weight_update', { body: { weight_version: '2' } });
    expect(await version()).toBe('1');
    await gateway.rl.call(engine, 'finish_weight_update', { body: { weight_version: '2' } });
    expect(await version()).toBe('2');
    await gateway.close();
    await engine.stop();
  });

  it('[#27] an engine that would hang in its sleep is not asked', async () => {
    const [awake, sleeper] = [new MockEngine({ kind: 'vllm' }), new MockEngine({ kind: 'vllm' })];
    const stop = await startAll(awake, sleeper);
    const gateway = await startRl({}, { engines: [awake, sleeper] });
    await gateway.rl.call(sleeper, 'sleep?level=1', { body: undefined });
    const seen = sleeper.counters.of('/v1/chat/completions');
    for (let i = 0; i < 20; i += 1) {
      const got = await send(`${gateway.url}/v1/chat/completions`, { body: chat() });
      expect([got.status, workerOf(got)]).toEqual([200, awake.url]);
    }
    expect(sleeper.counters.of('/v1/chat/completions')).toBe(seen);
    await gateway.close();
    await stop();
  });
});

describeLanes('rollouts that a refit crosses', ({ hotLane }) => {
  let engine: MockEngine;
  let gateway: RlGateway;
  beforeEach(async () => {
    engine = await new MockEngine({ tokens: 4 }).start();
    gateway = await startRl({ requests: { hotLane } }, { engines: [engine] });
    await gateway.rl.setVersion(engine, '1');
  });
  afterEach(async () => {
    await gateway.close();
    await engine.stop();
  });

  it.each([
    ['before its head', { delayMs: 500 }],
    ['between head and body', { delayBodyMs: 500 }],
  ])('[#4] the version changes %s: the answer names the one it began with', async (_, delays) => {
    for (const path of ['/v1/chat/completions', '/generate']) {
      await gateway.rl.setVersion(engine, '1');
      const body = path === '/generate' ? { text: 'x', meta_info: {} } : { choices: [] };
      engine.behave({ route: path, times: 1, body, ...delays });
      const seen = engine.counters.of(path);
      const asked = send(gateway.url + path, {
        body: path === '/generate' ? generate() : chat(),
      });
      await engine.waitUntil(() => engine.counters.of(path) > seen);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await gateway.rl.setVersion(engine, '2');
      expect((await asked).headers).toMatchObject({
        'x-smg-weight-version-start': '1',
        'x-smg-weight-version': '2',
        'x-smg-mixed-version': 'true',
      });
    }
  });

  it('[#44] what an engine says of an aborted rollout arrives byte for byte', async () => {
    const body =
      '{ "text":"", "output_ids":[],\n "meta_info":{"id":"r","finish_reason":{"type":"abort","message":"Abort before prefill"},' +
      '"output_token_logprobs":[],"seed":9007199254740993,"weight_version":"1"} }';
    const headers = { 'content-type': 'application/json' };
    engine.behave({ route: '/generate', times: 1, body, headers });
    const got = await generateAt(gateway);
    expect([got.status, got.text]).toEqual([200, body]);
    expect(got.headers['x-smg-mixed-version']).toBeUndefined();
  });
});
