import { connect } from 'node:net';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { workersOf } from '../support/workers';

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const UNKNOWN_ID = '0198b6a0-0000-7000-8000-000000000000';

/** Status line and body of one raw request; the path is sent exactly as given. */
function raw(port: number, method: string, target: string, extra = '', body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${extra}\r\n${body}`,
      );
    });
    let text = '';
    socket.on('data', (part: Buffer) => (text += part.toString('latin1')));
    socket.on('close', () => {
      resolve(text);
    });
    socket.on('error', reject);
    socket.setTimeout(5000, () => socket.destroy());
  });
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

describe('without keys', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  beforeAll(async () => {
    engine = await new MockEngine().start();
    gateway = await startGateway({}, { engines: [engine] });
  });
  afterAll(async () => {
    await engine.stop();
    await gateway.close();
  });

  it('[G98] every request is served, with or without Authorization or X-API-Key', async () => {
    for (const headers of [{}, bearer('anything'), { 'x-api-key': 'k' }, { authorization: 'x' }]) {
      const got = await send(`${gateway.url}/generate`, { headers, body: { text: 'x' } });
      expect(got.status).toBe(200);
      expect((await send(`${gateway.url}/workers`, { headers })).status).toBe(200);
    }
  });

  it("passes the client's Authorization on, since nobody here has consumed it (decision 2)", async () => {
    await send(`${gateway.url}/generate`, { headers: bearer('mine'), body: { text: 'x' } });
    expect(engine.requestsTo('/generate').at(-1)?.values('authorization')).toEqual(['Bearer mine']);
  });
});

describe('with a shared key and a tenant key', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  beforeAll(async () => {
    engine = await new MockEngine().start();
    gateway = await startGateway(
      { auth: { apiKey: 'S', tenantApiKeys: [{ tenantId: 'acme', key: 'T' }] } },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await engine.stop();
    await gateway.close();
  });

  it('[G99] /generate takes either key, /workers only the shared one', async () => {
    const generate = async (headers: Record<string, string>): Promise<number> =>
      (await send(`${gateway.url}/generate`, { headers, body: { text: 'x' } })).status;
    const workers = async (headers: Record<string, string>): Promise<number> =>
      (await send(`${gateway.url}/workers`, { headers })).status;
    expect(await generate(bearer('T'))).toBe(200);
    expect(await generate(bearer('S'))).toBe(200);
    expect(await workers(bearer('T'))).toBe(401);
    expect(await workers(bearer('S'))).toBe(200);
  });

  it.each([
    ['no header', undefined],
    ['another key', 'Bearer X'],
    ['a longer key', 'Bearer SS'],
    ['another case', 'Bearer s'],
    ['an empty token', 'Bearer '],
    ['no scheme', 'S'],
    ['another scheme', 'Basic S'],
    ['two tokens', 'Bearer S T'],
    ['the tenant and the key', 'Bearer acme:T'],
  ])(
    'refuses %s: 401 an OpenAI client understands, nothing reaches the engine',
    async (_, header) => {
      const received = engine.counters.of('/generate');
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const got = await send(`${gateway.url}/generate`, { headers, body: { text: 'x' } });
      expect(got.status).toBe(401);
      expect(got.headers['www-authenticate']).toMatch(/^Bearer/);
      expect(got.json['error']).toMatchObject({
        type: 'authentication_error',
        code: 'invalid_api_key',
        message: expect.any(String),
      });
      const control = await send(`${gateway.url}/workers`, { headers });
      expect(control.status).toBe(401);
      expect(control.headers['content-type']).toContain('text/plain');
      expect(control.headers['www-authenticate']).toMatch(/^Bearer/);
      expect(engine.counters.of('/generate')).toBe(received);
    },
  );

  it("consumes the key: the engine sees the worker's own, a worker of the API none (decision 2)", async () => {
    const added = await new MockEngine({ model: 'added' }).start();
    const workers = workersOf(gateway.url, 'S');
    const id = await workers.added({ url: added.url, health: { drain_settle_secs: 0 } });
    try {
      // Workers of the command line inherit --api-key; those of the API have what their body says.
      for (const [key, model, seen] of [
        ['T', 'mock-model', ['Bearer S']],
        ['S', 'added', []],
        ['T', 'added', []],
      ] as const) {
        const body = { model, prompt: 'x' };
        const got = await send(`${gateway.url}/v1/completions`, { headers: bearer(key), body });
        expect(got.status).toBe(200);
        const to = model === 'added' ? added : engine;
        expect(to.requestsTo('/v1/completions').at(-1)?.values('authorization')).toEqual(seen);
      }
    } finally {
      await workers.remove(id);
      await workers.untilCount(1);
      await added.stop();
    }
  });

  it('probes and models stay public', async () => {
    for (const path of ['/liveness', '/readiness', '/health', '/v1/models', '/get_model_info']) {
      expect([path, (await send(gateway.url + path)).status]).toEqual([path, 200]);
    }
  });

  it('[R41] no encoded form of a control route is served without its key', async () => {
    const routes: [string, string][] = [
      ['GET', '/workers'],
      ['POST', '/workers'],
      ['GET', `/workers/${UNKNOWN_ID}`],
      ['PUT', `/workers/${UNKNOWN_ID}`],
      ['PATCH', `/workers/${UNKNOWN_ID}`],
      ['DELETE', `/workers/${UNKNOWN_ID}`],
      ['POST', '/flush_cache'],
      ['GET', '/get_loads'],
      ['HEAD', '/workers'],
      ['HEAD', '/get_loads'],
    ];
    const flushes = engine.counters.of('/flush_cache');
    let tries = 0;
    for (const [method, route] of routes) {
      for (const target of spellings(route)) {
        const answer = await raw(gateway.port, method, target);
        tries += 1;
        const isRefused = [400, 401, 404, 405].includes(statusOf(answer));
        expect([method, target, isRefused, answer]).toEqual([method, target, true, answer]);
      }
    }
    expect(tries).toBeGreaterThan(100);
    expect(engine.counters.of('/flush_cache')).toBe(flushes);
  });

  it('[R41] encoded spellings of an inference route bypass no key either', async () => {
    const received = engine.counters.of('/generate');
    for (const target of spellings('/generate')) {
      const extra = 'Content-Type: application/json\r\nContent-Length: 2\r\n';
      const answer = await raw(gateway.port, 'POST', target, extra, '{}');
      const isRefused = [400, 401, 404].includes(statusOf(answer));
      expect([target, isRefused, answer]).toEqual([target, true, answer]);
    }
    expect(engine.counters.of('/generate')).toBe(received);
  });
});

describe('with tenant keys alone', () => {
  it('[G100] /generate takes the key; /workers nothing', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway(
      { auth: { tenantApiKeys: [{ tenantId: 'acme', key: 'T' }] } },
      { engines: [engine] },
    );
    try {
      const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
        (
          await send(gateway.url + path, {
            headers,
            body: path === '/generate' ? { text: 'x' } : undefined,
          })
        ).status;
      expect(await ask('/generate', bearer('T'))).toBe(200);
      expect(await ask('/generate', {})).toBe(401);
      expect(await ask('/workers', bearer('T'))).toBe(401);
      expect(await ask('/workers', {})).toBe(401);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});

/** Ways to write a path that some part of a server might read as the same path. */
function spellings(route: string): string[] {
  const hex = (character: string): string =>
    `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  const first = route[1] ?? '';
  const encodedFirst = `/${hex(first)}${route.slice(2)}`;
  return [
    route,
    encodedFirst,
    encodedFirst.toUpperCase().replace(route.slice(2).toUpperCase(), route.slice(2)),
    `/${Array.from(route.slice(1), (it) => (/[a-z_]/.test(it) ? hex(it) : it)).join('')}`,
    `/%25${hex(first).slice(1)}${route.slice(2)}`,
    `%2f${route.slice(1)}`,
    `/%2f${route.slice(1)}`,
    `/${route}`,
    `${route}/`,
    `${route}//`,
    `${route}%2f`,
    `${route}?x=1`,
    `${route};x=1`,
    `${route}%00`,
    `${route}%20`,
    `${route}#x`,
    `/.${route}`,
    `/x/..${route}`,
    `/health/..${route}`,
    `/health/%2e%2e${route}`,
    `/health%2f..${route}`,
    route.toUpperCase(),
    `http://x${route}`,
    `http://x/health/..${route}`,
  ];
}
