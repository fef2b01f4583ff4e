import { MockEngine } from '@smg/testing';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat, chatStream, generate, MODEL } from './support/bodies';
import { describeLanes } from './support/lanes';
import { generateAt, serversOf, startRl, type RlGateway } from './support/rl';
import { sample } from './support/scrape';

const ROUTES: readonly (readonly [string, object])[] = [
  ['/generate', generate()],
  ['/v1/chat/completions', chat()],
  ['/v1/completions', { model: MODEL, prompt: 'x' }],
  ['/v1/embeddings', { model: MODEL, input: 'x' }],
  ['/v1/rerank', { model: MODEL, query: 'x', documents: ['y'] }],
  ['/rerank', { model: MODEL, query: 'x', documents: ['y'] }],
  ['/v1/classify', { model: MODEL, input: 'x' }],
  ['/v1/messages', { model: MODEL, max_tokens: 4, messages: [{ role: 'user', content: 'x' }] }],
  ['/v1/responses', { model: MODEL, input: 'x' }],
];

describeLanes('every inference route', ({ hotLane }) => {
  const engine = new MockEngine({ tokens: 2 });
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl({ requests: { hotLane } }, { engines: [engine] });
    await gateway.rl.setVersion(engine, '3');
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it.each(ROUTES)(
    '%s is stamped, and keeps away from an engine that is closed',
    async (path, body) => {
      const ask = async (headers: Record<string, string> = {}) =>
        send(gateway.url + path, { body, headers });
      const served = await ask();
      expect([
        served.headers['x-smg-routed-worker-id'],
        served.headers['x-smg-weight-version'],
      ]).toEqual([engine.url, '3']);
      const seen = engine.counters.received;
      for (const control of ['paused', 'asleep']) {
        await gateway.rl.setControl(engine, control);
        const refused = await ask();
        expect([refused.status, refused.headers['x-smg-error-code']]).toEqual([
          503,
          'no_available_workers',
        ]);
        expect(refused.headers['x-smg-routed-worker-id']).toBeUndefined();
      }
      await gateway.rl.setControl(engine, 'active');
      expect((await ask({ 'x-smg-version-policy': 'min-version:4' })).status).toBe(503);
      expect((await ask({ 'x-smg-version-policy': 'newest' })).status).toBe(400);
      expect(engine.requests.slice(seen).filter(({ route }) => route === path)).toEqual([]);
    },
  );
});

describe('data-parallel engines', () => {
  const engine = new MockEngine({ tokens: 1, dpSize: 3 });
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl({ workers: { dpAware: true } }, { engines: [engine], ready: 3 });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('[RL100] a call by the id of any rank closes, opens and versions all of them, and reaches the engine once', async () => {
    const { workers } = await workersOf(gateway.url).list();
    const ranks = workers.map(({ url }) => url).sort();
    expect((await serversOf(gateway, 6)).workers).toEqual(ranks);
    for (const { id } of workers) {
      const call = (path: string, body: object) =>
        gateway.rl.ask(`/workers/${id}/engine/${path}`, { method: 'POST', body });
      const before = engine.counters.of('/pause_generation');
      await call('pause_generation', {});
      expect(engine.counters.of('/pause_generation')).toBe(before + 1);
      expect(await serversOf(gateway, 6)).toEqual({ workers: [], statuses: [503] });
      await call('update_weights_from_disk', { weight_version: `v-${id}` });
      await call('continue_generation', {});
      for (let i = 0; i < 3; i += 1) {
        const { headers } = await generateAt(gateway);
        expect(ranks).toContain(headers['x-smg-routed-worker-id']);
        expect(headers['x-smg-weight-version']).toBe(`v-${id}`);
      }
      expect((await serversOf(gateway, 6)).workers).toEqual(ranks);
    }
  });
});

describeLanes('waiting for an engine', ({ hotLane }) => {
  let engine: MockEngine;
  let gateway: RlGateway;
  beforeEach(async () => {
    engine = await new MockEngine({ tokens: 3 }).start();
    gateway = await startRl(
      {
        requests: { hotLane },
        retry: { maxAttempts: 100, initialBackoffMs: 10, maxBackoffMs: 20 },
      },
      { engines: [engine] },
    );
    await gateway.rl.call(engine, 'pause_generation');
  });
  afterEach(async () => {
    await gateway.close();
    await engine.stop();
  });
  const turnedAway = (count: number): Promise<void> =>
    until(`${count} were turned away`, async () => {
      const page = await gateway.metrics();
      return sample(page, 'smg_rl_requests_unroutable_total') >= count;
    });

  it('[RL88] streams and chats wait as well, and are generated once', async () => {
    const waiting = [
      send(`${gateway.url}/generate`, { body: generate({ stream: true }) }),
      send(`${gateway.url}/v1/chat/completions`, { body: chat() }),
      send(`${gateway.url}/v1/chat/completions`, { body: chatStream() }),
    ];
    await turnedAway(6);
    await gateway.rl.call(engine, 'continue_generation');
    for (const got of await Promise.all(waiting)) {
      expect([got.status, got.aborted, got.headers['x-smg-routed-worker-id']]).toEqual([
        200,
        false,
        engine.url,
      ]);
    }
    expect([engine.counters.of('/generate'), engine.counters.of('/v1/chat/completions')]).toEqual([
      1, 2,
    ]);
  });

  it('a client that leaves while it waits costs the engine nothing', async () => {
    const staying = open(`${gateway.url}/generate`, { body: generate() });
    staying.catch(() => undefined);
    const controller = new AbortController();
    const gone = fetch(`${gateway.url}/generate`, {
      method: 'POST',
      body: JSON.stringify(generate()),
      signal: controller.signal,
    }).catch(() => 'left');
    await turnedAway(4);
    controller.abort();
    expect(await gone).toBe('left');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await gateway.rl.call(engine, 'continue_generation');
    (await staying).leave();
    await new Promise((resolve) => setTimeout(resolve, 50));
    // The one that stayed.
    expect(engine.counters.of('/generate')).toBe(1);
    const { workers } = await workersOf(gateway.url).list();
    expect(workers.map(({ load }) => load)).toEqual([0]);
  });

  it('a policy that no engine meets yet waits for the refit that meets it', async () => {
    await gateway.rl.call(engine, 'continue_generation');
    const waiting = generateAt(gateway, { 'x-smg-version-policy': 'min-version:8' });
    await turnedAway(3);
    await gateway.rl.call(engine, 'update_weights_from_disk', { body: { weight_version: '8' } });
    const got = await waiting;
    expect([
      got.status,
      got.headers['x-smg-weight-version'],
      got.json['meta_info'].weight_version,
    ]).toEqual([200, '8', '8']);
  });
});
