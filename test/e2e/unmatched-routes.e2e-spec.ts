import { connect } from 'node:net';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';

// Decision 6: an unknown path is 404 without a body, a known path with another method 405 with Allow.
describe.each([true, false])('paths and methods without a route, hot lane %s', (hotLane) => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  beforeAll(async () => {
    engine = await new MockEngine().start();
    gateway = await startGateway({ requests: { hotLane } }, { engines: [engine] });
  });
  afterAll(async () => {
    await engine.stop();
    await gateway.close();
  });

  it('[G23] an unknown path is 404 with an empty body, whatever the method', async () => {
    const paths = [
      '/unknown_endpoint',
      '/api/v2/generate',
      '/v1/rl',
      '/v1/rl/engines',
      '/v1/workers',
    ];
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']) {
        const body = method === 'POST' ? { text: 'x' } : undefined;
        const got = await send(gateway.url + path, { method, body });
        expect([path, method, got.status, got.text]).toEqual([path, method, 404, '']);
        expect(got.headers.allow).toBeUndefined();
        expect(got.headers['content-type']).toBeUndefined();
      }
    }
  });

  it.each(['/%zz', '/workers/%ff', '/workers/%', `/workers/${'a'.repeat(5000)}`])(
    'a path the router cannot read is 404 too, with an id, and is logged: %.20s',
    async (path) => {
      const got = await send(gateway.url + path);
      expect([got.status, got.text]).toEqual([404, '']);
      const id = got.headers['x-request-id'];
      expect(id).toMatch(/^req-/);
      const line = gateway.logs.find(
        ({ request_id: known, status_code: status }) => known === id && status !== undefined,
      );
      expect(line).toMatchObject({ method: 'GET', route: 'other', status_code: 404 });
    },
  );

  it.each(['a b', 'application', ';'])('so it is with a content type of %j', async (type) => {
    const sending = { body: '{}', headers: { 'content-type': type } };
    for (const [path, method, status] of [
      ['/unknown_endpoint', 'POST', 404],
      ['/v1/rl/engines', 'POST', 404],
      ['/workers', 'DELETE', 405],
      ['/health', 'POST', 405],
    ] as const) {
      const got = await send(gateway.url + path, { method, ...sending });
      expect([path, got.status, got.text]).toEqual([path, status, '']);
    }
  });

  it('[G23] a known path with another method is 405 with an empty body and Allow', async () => {
    const cases: [string, string, string[]][] = [
      ['/generate', 'GET', ['POST']],
      ['/generate', 'HEAD', ['POST']],
      ['/v1/chat/completions', 'GET', ['POST']],
      ['/v1/chat/completions', 'OPTIONS', ['POST']],
      ['/health', 'POST', ['GET', 'HEAD']],
      ['/readiness', 'DELETE', ['GET', 'HEAD']],
      ['/v1/models', 'POST', ['GET', 'HEAD']],
      ['/get_model_info', 'POST', ['GET', 'HEAD']],
      ['/workers', 'DELETE', ['GET', 'HEAD', 'POST']],
      [
        '/workers/0198b6a0-0000-7000-8000-000000000000',
        'POST',
        ['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT'],
      ],
      ['/flush_cache', 'PUT', ['GET', 'HEAD', 'POST']],
      ['/get_loads', 'POST', ['GET', 'HEAD']],
    ];
    for (const [path, method, allow] of cases) {
      const body = method === 'POST' ? {} : undefined;
      const got = await send(gateway.url + path, { method, body });
      expect([path, method, got.status, got.text]).toEqual([path, method, 405, '']);
      expect((got.headers.allow ?? '').split(/,\s*/).sort()).toEqual(allow);
    }
  });

  it('a trailing slash, another case, a doubled slash or an encoded letter of an inference route is another path: 404', async () => {
    const paths = [
      ...['/generate/', '/Generate', '/GENERATE', '/%67enerate', '/generate;x=1', '//generate'],
      ...['/v1//chat/completions', '/v1/chat%2Fcompletions', '/v1/chat/completions/'],
      ...['/workers/', '/workers//', '//workers', '/Workers', '/health/'],
    ];
    const received = engine.counters.received;
    for (const path of paths) {
      for (const body of [undefined, { text: 'x' }]) {
        const got = await send(gateway.url + path, { body });
        expect([path, got.status, got.text]).toEqual([path, 404, '']);
      }
    }
    expect(engine.counters.received).toBe(received);
  });

  it('routes of SMG that this version has not are unknown paths', async () => {
    const paths = [
      ...['/start_profile', '/stop_profile', '/parse/function_call', '/wasm'],
      ...['/v1/tokenizers', '/v1/tokenize', '/v1/interactions', '/ha/health'],
      ...['/v1/realtime/calls', '/v1/audio/speech', '/v1/models/x'],
    ];
    for (const path of paths) {
      for (const body of [undefined, {}]) {
        const got = await send(gateway.url + path, { body });
        expect([path, got.status, got.text]).toEqual([path, 404, '']);
      }
    }
  });

  it('a query changes nothing', async () => {
    for (const query of ['?', '?x=1', '?a=/b?c']) {
      const got = await send(`${gateway.url}/generate${query}`, { body: { text: 'x' } });
      expect([query, got.status]).toEqual([query, 200]);
      expect((await send(`${gateway.url}/workers${query}`)).status).toBe(200);
      expect((await send(`${gateway.url}/generate${query}`)).headers.allow).toBe('POST');
    }
  });

  it('a path nobody can decode is an unknown path like any other: 404 without a body', async () => {
    for (const path of ['/%zz', '/%', '/workers/%E0%A4%A', '/v1/rl/workers/%zz/engine/pause']) {
      const got = await send(gateway.url + path, { method: 'GET' });
      expect([path, got.status, got.text]).toEqual([path, 404, '']);
    }
    expect((await send(`${gateway.url}/health`)).status).toBe(200);
  });

  it('odd and undecodable targets are 404 or 400 without a stack trace, and the gateway lives', async () => {
    for (const target of ['/%', '/%zz', '/workers/%ff%fe', '/workers/%00', '/%c0%ae']) {
      const answer = await raw(
        gateway.port,
        `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect([target, /^HTTP\/1\.1 (400|404) /.test(answer)]).toEqual([target, true]);
      expect(answer).not.toMatch(/\n\s+at |node_modules/);
    }
    expect((await send(`${gateway.url}/health`)).status).toBe(200);
  });

  it('metrics name the route, never the path of a client', async () => {
    await send(`${gateway.url}/canary-path-1`);
    await send(`${gateway.url}/workers/canary-id-2`);
    const page = await gateway.metrics();
    expect(page).not.toContain('canary');
    expect(page).toContain('path="other"');
    expect(page).toContain('path="/workers/:id"');
  });
});

describe('with a key', () => {
  it('an unknown path is still 404, without a key and with one', async () => {
    const gateway = await startGateway({ auth: { apiKey: 'S' } });
    try {
      for (const headers of [{}, { authorization: 'Bearer S' }]) {
        const got = await send(`${gateway.url}/v1/rl/engines`, { headers });
        expect([got.status, got.text]).toEqual([404, '']);
      }
      expect((await send(`${gateway.url}/generate`)).status).toBe(401);
    } finally {
      await gateway.close();
    }
  });
});

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (part: Buffer) => (text += part.toString('latin1')));
    socket.on('close', () => {
      resolve(text);
    });
    socket.on('error', reject);
    socket.setTimeout(5000, () => socket.destroy());
  });
}
