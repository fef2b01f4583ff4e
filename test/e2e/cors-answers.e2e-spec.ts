import { Controller, Get, Header, Module } from '@nestjs/common';
import { Public } from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer, type Sending } from '../support/http';
import { chat, chatEvent, chatStream, DONE } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const KEY = 'serving-key';
const bearer = { authorization: `Bearer ${KEY}` };
/** Tells the engine which of its answers is wanted. */
const asking = (kind: string): Record<string, string> => ({ ...bearer, 'x-correlation-id': kind });
const APP = 'https://app.example.com';
const OTHER = 'https://evil.example';
const EXPOSED = [
  'x-request-id',
  'x-smg-routed-worker-id',
  'x-smg-weight-version',
  'x-smg-weight-version-start',
  'x-smg-mixed-version',
  'x-smg-error-code',
];

/** CORS headers of an answer, and Vary; a repeat shows as `a, b`. */
function corsOf(answer: Answer): Record<string, string> {
  const found: Record<string, string> = {};
  for (let i = 0; i < answer.rawHeaders.length; i += 2) {
    const name = (answer.rawHeaders[i] ?? '').toLowerCase();
    const value = answer.rawHeaders[i + 1] ?? '';
    if (!name.startsWith('access-control-') && name !== 'vary') continue;
    found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`;
  }
  return found;
}

/** What an engine with a CORS policy of its own sends. */
const ENGINE_CORS = [
  'Access-Control-Allow-Origin',
  '*',
  'access-control-allow-credentials',
  'true',
  'Access-Control-Expose-Headers',
  'x-engine',
  'vary',
  'Origin',
];

/** Every kind of answer, whoever makes it. */
const ANSWERS: readonly (readonly [string, string, Sending, number])[] = [
  ['a buffered answer', CHAT, { headers: bearer, body: chat() }, 200],
  ['a stream', CHAT, { headers: asking('stream'), body: chatStream() }, 200],
  ['an engine error', CHAT, { headers: asking('fail'), body: chat() }, 418],
  ['401 of the data plane', CHAT, { body: chat() }, 401],
  ['a body that is no JSON', CHAT, { headers: bearer, body: '{' }, 400],
  ['an unknown model', CHAT, { headers: bearer, body: chat({ model: 'nobody' }) }, 404],
  ['a wrong method of the data plane', CHAT, { headers: bearer, method: 'DELETE' }, 405],
  ['the list of workers', '/workers', { headers: bearer }, 200],
  ['401 of the control plane', '/workers', {}, 401],
  ['a bad worker', '/workers', { headers: bearer, body: '{}' }, 422],
  ['a wrong method of the control plane', '/workers', { headers: bearer, method: 'PATCH' }, 405],
  ['an unknown path', '/nowhere', {}, 404],
  ['a path that cannot be decoded', '/%zz', {}, 404],
  ['a probe', '/health', {}, 200],
  ['HEAD of a probe', '/health', { method: 'HEAD' }, 200],
  ['the models', '/v1/models', {}, 200],
  ['an answer of a plug-in, headers set one by one', '/v1/acme', {}, 200],
  ['a long target', `/health?${'x'.repeat(17_000)}`, {}, 414],
];

@Controller('v1/acme')
class AcmeController {
  @Get()
  @Public()
  @Header('access-control-allow-origin', 'https://acme.example')
  get(): object {
    return {};
  }
}
@Module({ controllers: [AcmeController] })
class AcmePlugin {}

async function started(
  hotLane: boolean,
  corsAllowedOrigins: readonly string[],
): Promise<{ engine: MockEngine; gateway: RunningGateway; close: () => Promise<void> }> {
  const engine = new MockEngine();
  await engine.start();
  const gateway = await startGateway(
    {
      listener: { corsAllowedOrigins },
      auth: { apiKey: KEY },
      requests: { hotLane },
      health: { checksDisabled: true },
    },
    { engines: [engine], plugins: [AcmePlugin] },
  );
  engine.behave({ route: CHAT, headers: ENGINE_CORS, body: { ok: true } });
  engine.behave({
    route: CHAT,
    when: (request) => request.values('x-correlation-id').includes('stream'),
    headers: ENGINE_CORS,
    chunks: [chatEvent('a'), DONE],
  });
  engine.behave({
    route: CHAT,
    when: (request) => request.values('x-correlation-id').includes('fail'),
    status: 418,
    headers: ENGINE_CORS,
    body: {},
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    await engine.stop();
  };
  return { engine, gateway, close };
}

describeLanes('CORS for a list of origins', ({ hotLane }) => {
  let running: Awaited<ReturnType<typeof started>>;
  beforeAll(async () => {
    running = await started(hotLane, [APP, 'HTTP://LocalHost:80/']);
  });
  afterAll(() => running.close());
  const ask = (path: string, sending: Sending, origin?: string): Promise<Answer> =>
    send(running.gateway.url + path, {
      ...sending,
      headers: { ...sending.headers, ...(origin === undefined ? {} : { origin }) },
    });
  const preflight = (path: string, headers: Record<string, string>): Promise<Answer> =>
    send(running.gateway.url + path, { method: 'OPTIONS', headers });

  it.each(ANSWERS)('[RL101] %s names the origin and what a page may read', async (...given) => {
    const [, path, sending, status] = given;
    const answer = await ask(path, sending, APP);
    expect(answer.status).toBe(status);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': APP,
      'access-control-expose-headers': EXPOSED.join(', '),
      vary: 'Origin',
    });
  });

  it.each(ANSWERS)('%s to another origin is the same answer without', async (...given) => {
    const [, path, sending, status] = given;
    for (const origin of [OTHER, 'null', `${APP}:8443`, `${APP}.evil.example`, APP.toUpperCase()]) {
      const answer = await ask(path, sending, origin);
      expect(answer.status).toBe(status);
      expect(corsOf(answer)).toEqual({ vary: 'Origin' });
    }
  });

  it('without an Origin nothing is added, and nothing of an engine taken', async () => {
    const answer = await ask(CHAT, { headers: bearer, body: chat() });
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'x-engine',
      vary: 'Origin',
    });
    expect(corsOf(await ask('/health', {}))).toEqual({});
  });

  it('an origin is compared as browsers write it', async () => {
    const answer = await ask('/health', {}, 'http://localhost');
    expect(corsOf(answer)['access-control-allow-origin']).toBe('http://localhost');
  });

  it.each([CHAT, '/generate', '/workers', '/workers/x', '/health', '/nowhere', '/v1/rl/workers'])(
    'a preflight of %s is answered without a key, and asks no engine',
    async (path) => {
      const before = running.engine.counters.received;
      const answer = await preflight(path, {
        origin: APP,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      });
      expect(answer.status).toBe(204);
      expect(answer.text).toBe('');
      expect(corsOf(answer)).toEqual({
        'access-control-allow-origin': APP,
        'access-control-expose-headers': EXPOSED.join(', '),
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
        'access-control-allow-headers': 'content-type, authorization, x-smg-version-policy',
        'access-control-max-age': '3600',
        vary: 'Origin',
      });
      expect(answer.headers['x-request-id']).toBeDefined();
      expect(running.engine.counters.received).toBe(before);
    },
  );

  it('a preflight of another origin allows nothing', async () => {
    const answer = await preflight('/workers', {
      origin: OTHER,
      'access-control-request-method': 'POST',
    });
    expect(answer.status).toBe(204);
    expect(corsOf(answer)).toEqual({ vary: 'Origin' });
  });

  it('a page of the internet gets no way into a private network', async () => {
    const answer = await preflight('/workers', {
      origin: APP,
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    });
    expect(answer.headers['access-control-allow-private-network']).toBeUndefined();
  });

  it('OPTIONS that is no preflight stays what it was', async () => {
    const method = { 'access-control-request-method': 'POST' };
    for (const headers of [{}, { origin: APP }, method]) {
      const own = { ...headers, ...bearer };
      expect((await preflight('/workers', own)).status).toBe(405);
      expect((await preflight(CHAT, own)).status).toBe(405);
      expect((await preflight('/nowhere', own)).status).toBe(404);
    }
  });

  it('a request that only looks like a preflight is served as what it is', async () => {
    const answer = await ask(
      '/workers',
      { headers: { 'access-control-request-method': 'POST' } },
      APP,
    );
    expect(answer.status).toBe(401);
  });

  it('preflights are counted and logged once each, by a path that no client chooses', async () => {
    const count = async (): Promise<number> =>
      sample(await running.gateway.metrics(), 'smg_http_responses_total', {
        path: 'other',
        status_code: '204',
      });
    const before = await count();
    await preflight('/nowhere/at/all', { origin: APP, 'access-control-request-method': 'GET' });
    expect(await count()).toBe(before + 1);
    expect(await running.gateway.metrics()).not.toContain('nowhere');
    expect(sample(await running.gateway.metrics(), 'smg_http_connections_active')).toBe(0);
  });
});

describeLanes('CORS without a list', ({ hotLane }) => {
  let running: Awaited<ReturnType<typeof started>>;
  beforeAll(async () => {
    running = await started(hotLane, []);
  });
  afterAll(() => running.close());

  it.each(ANSWERS)('%s may be read by any page, without its cookies', async (...given) => {
    const [, path, sending, status] = given;
    for (const origin of [OTHER, 'null']) {
      const answer = await send(running.gateway.url + path, {
        ...sending,
        headers: { ...sending.headers, origin },
      });
      expect(answer.status).toBe(status);
      const { vary, ...cors } = corsOf(answer);
      expect(cors).toEqual({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': '*',
      });
      expect([undefined, 'Origin']).toContain(vary);
    }
  });

  it('a preflight allows any method and any header, a key among them', async () => {
    const answer = await send(`${running.gateway.url}/nowhere`, {
      method: 'OPTIONS',
      headers: { origin: OTHER, 'access-control-request-method': 'PROPFIND' },
    });
    expect(answer.status).toBe(204);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
      'access-control-allow-methods': '*',
      'access-control-allow-headers': '*, authorization',
      'access-control-max-age': '3600',
    });
  });
});

describe('the list of origins', () => {
  it.each(['*', 'null', 'app.example.com', `${APP}/path`, 'https://*.example.com'])(
    '%s stops the start',
    async (value) => {
      const start = startGateway({ listener: { corsAllowedOrigins: [APP, value] } });
      await expect(start).rejects.toThrow(/cors/i);
    },
  );
});
