import { MockEngine } from '@smg/testing';
import { request } from 'node:http';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatStream, generate } from './support/bodies';
import { sample } from './support/scrape';

const ROUTES: readonly (readonly [string, object])[] = [
  ['/generate', generate()],
  ['/generate', generate({ stream: true })],
  ['/v1/chat/completions', chat()],
  ['/v1/chat/completions', chatStream()],
  ['/v1/completions', { model: 'mock-model', prompt: 'x' }],
  ['/v1/embeddings', { model: 'mock-model', input: 'x' }],
  ['/v1/classify', { model: 'mock-model', input: 'x' }],
  ['/v1/rerank', { query: 'q', documents: ['a'] }],
  ['/rerank', { model: 'mock-model', query: 'q', documents: ['a'] }],
  ['/v1/messages', chat({ max_tokens: 4 })],
  ['/v1/responses', { model: 'mock-model', input: 'x' }],
];

describe('load', () => {
  const engines = Array.from({ length: 8 }, () => new MockEngine({ keepRequests: 0 }));
  let gateway: RunningGateway;
  let tell = (): void => undefined;
  const untold = new Promise<void>((resolve) => (tell = resolve));
  const isLoadQuestion = (route: string) => route === '/v1/loads' || route === '/metrics';
  beforeAll(async () => {
    for (const engine of engines) {
      await engine.start();
      // Engines that tell nothing of themselves: what counts is what is in flight from here. Those that
      // report are scored by their reports, not by what is in flight.
      engine.onRequest(({ route }) => (isLoadQuestion(route) ? untold : undefined));
    }
    gateway = await startGateway(
      { health: { checksDisabled: true }, routing: { policy: 'power_of_two' } },
      { engines },
    );
  });
  afterAll(async () => {
    tell();
    await gateway.close();
    for (const engine of engines) await engine.stop();
  });
  afterEach(() => {
    for (const engine of engines) engine.behaveNormally();
  });

  const counts = (route: string) => engines.map(({ counters }) => counters.of(route));

  it.each(ROUTES)(
    '[#86] %s %j counts as load of its worker while it runs, and no longer',
    async (route, body) => {
      for (const engine of engines) {
        // Rankings are asked for at the one path engines agree on.
        engine.behave({ route: route === '/rerank' ? '/v1/rerank' : route, delayMs: 60_000 });
      }
      const aborts: (() => void)[] = [];
      const active = async () => sample(await gateway.metrics(), 'smg_worker_requests_active');
      for (let at = 0; at < 4; at += 1) {
        const outgoing = request(`${gateway.url}${route}`, {
          method: 'POST',
          agent: false,
          headers: { 'content-type': 'application/json' },
        });
        outgoing.on('error', () => undefined);
        outgoing.end(JSON.stringify(body));
        aborts.push(() => outgoing.destroy());
      }
      await until('four are in flight', async () => (await active()) === 4);
      for (const abort of aborts) abort();
      await until('none is in flight', async () => (await active()) === 0);
    },
  );

  it.each(ROUTES.filter((_, at) => at % 2 === 0))(
    '[#86] 480 requests on %s over 8 engines: a slow one gets less than half its share',
    async (route, body) => {
      // The gateway builds rankings itself, out of what engines answer at the one path they agree on.
      const isRerank = route.endsWith('rerank');
      const path = isRerank ? '/v1/rerank' : route;
      const answer = isRerank ? [] : { ok: true };
      const before = counts(path);
      for (const engine of engines) {
        engine.behave({ route: path, delayMs: engine === engines[0] ? 200 : 10, body: answer });
      }
      const lane = async () => {
        for (let at = 0; at < 15; at += 1) {
          expect((await send(`${gateway.url}${route}`, { body })).status).toBe(200);
        }
      };
      await Promise.all(Array.from({ length: 32 }, lane));
      const [slow = 0, ...others] = counts(path).map((count, at) => count - (before[at] ?? 0));
      expect(others.reduce((sum, share) => sum + share, slow)).toBe(480);
      // Sixty would be even, which is what a policy without load figures gives it.
      expect(slow).toBeLessThan(30);
      expect(Math.max(...others) / Math.min(...others)).toBeLessThan(2);
    },
  );

  it('[#87] a burst of 256 with slow heads is even: load counts from the selection on', async () => {
    const route = '/v1/chat/completions';
    for (const engine of engines) engine.behave({ route, delayMs: 500, body: { ok: true } });
    const before = counts(route);
    const burst = await Promise.all(
      Array.from({ length: 256 }, () => send(`${gateway.url}${route}`, { body: chat() })),
    );
    expect(burst.every(({ status }) => status === 200)).toBe(true);
    const shares = counts(route).map((count, at) => count - (before[at] ?? 0));
    // 32 each when perfect. Two choices with a fresh load figure stay within a few; blind ones spread
    // over twenty.
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(9);
  });

  it('[#79] 512 requests of 1 s run at once: no pool caps the fleet', async () => {
    const route = '/v1/completions';
    for (const one of engines) one.behave({ route, delayMs: 1_000, body: { ok: true } });
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 512 }, () =>
        send(`${gateway.url}${route}`, { body: { model: 'mock-model', prompt: 'x' } }),
      ),
    );
    const wallMs = performance.now() - startedAt;
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    // In turns of 100 it would take five seconds and more.
    expect(wallMs).toBeLessThan(4_000);
  });
});
