import { request } from 'node:http';
import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { workersOf } from '../support/workers';
import { sendRaw, statusOf } from './support/raw-client';
import { sample } from './support/scrape';
import { startRl, type RlGateway } from './support/rl';

const MIB = 1024 * 1024;

describe('calls to one engine', () => {
  const engine = new MockEngine();
  let gateway: RlGateway;
  let id: string;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl(
      { rl: { controlTimeoutSecs: 1 }, requests: { maxPayloadSize: 3 * MIB } },
      { engines: [engine] },
    );
    id = await gateway.rl.id(engine);
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterEach(() => {
    engine.behaveNormally();
  });
  const last = (route: string) => {
    const found = engine.requestsTo(route).at(-1);
    if (found === undefined) throw new Error(`nothing came to ${route}`);
    return found;
  };

  it('[RL33] method, path, query and body bytes pass; credentials and routing headers do not', async () => {
    const body = Buffer.from('{"big": 12345678901234567890, "dup": 1, "dup": 7.0 }');
    const got = await gateway.rl.call(engine, 'load_lora_adapter?x=%41&flag', {
      body,
      headers: {
        'content-type': 'application/json; v=1',
        'x-request-id': 'mine-1',
        authorization: 'Bearer of-the-caller',
        'x-smg-routing-key': 'k',
        cookie: 'a=b',
      },
    });
    expect(got.status).toBe(200);
    const seen = last('/load_lora_adapter');
    expect([seen.method, seen.path]).toEqual(['POST', '/load_lora_adapter?x=%41&flag']);
    expect(seen.body.equals(body)).toBe(true);
    expect(seen.header('content-type')).toBe('application/json; v=1');
    expect(seen.header('x-request-id')).toBe('mine-1');
    for (const name of ['authorization', 'x-smg-routing-key', 'cookie', 'traceparent']) {
      expect([name, seen.values(name)]).toEqual([name, []]);
    }
    expect(got.json).toMatchObject({ worker_id: id, url: engine.url, status: 200 });
    expect(Number.isInteger(got.json['latency_ms'])).toBe(true);
    expect('body_truncated' in got.json).toBe(false);
  });

  it("[RL33] a request id the gateway made is not sent; the worker's key is", async () => {
    const keyed = await new MockEngine({ apiKey: 'engine-key' }).start();
    await workersOf(gateway.url).added({ url: keyed.url, api_key: 'engine-key' });
    const got = await gateway.rl.call(keyed, 'flush_cache');
    expect(got.status).toBe(200);
    const seen = keyed.requestsTo('/flush_cache').at(-1);
    expect(seen?.header('authorization')).toBe('Bearer engine-key');
    expect(seen?.header('x-request-id')).toBeUndefined();
    expect(got.text + gateway.rawLogs.join('')).not.toContain('engine-key');
    await workersOf(gateway.url).remove(await gateway.rl.id(keyed));
    await keyed.stop();
  });

  it('[RL34] a body without a type is sent as JSON; no body, no type; tracing passes', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const target = `/v1/rl/workers/${id}/engine/load_lora_adapter`;
    const head = `POST ${target} HTTP/1.1\r\nHost: g\r\ntraceparent: ${traceparent}\r\nConnection: close\r\n`;
    expect(statusOf((await sendRaw(gateway.port, `${head}Content-Length: 2\r\n\r\n{}`)).text)).toBe(
      200,
    );
    expect(last('/load_lora_adapter').header('content-type')).toBe('application/json');
    expect(last('/load_lora_adapter').header('traceparent')).toBe(traceparent);
    await sendRaw(gateway.port, `${head}Content-Length: 0\r\n\r\n`);
    expect(last('/load_lora_adapter').header('content-type')).toBeUndefined();
    expect(last('/load_lora_adapter').body).toHaveLength(0);
  });

  it.each([
    'text/plain',
    'application/x-protobuf',
    'application/json',
    'multipart/form-data; boundary=x',
    'no media type',
    'text/plain; charset',
  ])('a body of type %s passes byte for byte, whatever it holds', async (type) => {
    const body = Buffer.from([0, 255, 123, 10, 13]);
    await gateway.rl.call(engine, 'load_lora_adapter', { body, headers: { 'content-type': type } });
    expect(last('/load_lora_adapter').body.equals(body)).toBe(true);
    expect(last('/load_lora_adapter').header('content-type')).toBe(type);
  });

  it('[RL35] GET stays GET, also with a body; text comes back as a string', async () => {
    const got = await gateway.rl.call(engine, 'flush_cache', { method: 'GET', body: undefined });
    expect([got.status, got.json['body']]).toEqual([200, 'Cache flushed.\n']);
    expect(last('/flush_cache').method).toBe('GET');
    await gateway.rl.call(engine, 'flush_cache', { method: 'GET', body: { a: 1 } });
    expect(last('/flush_cache').body.toString()).toBe('{"a":1}');
  });

  it("[RL36] an engine's error is mirrored in the envelope", async () => {
    engine.behave({ route: '/server_info', status: 500, body: { oops: 1 } });
    const got = await gateway.rl.call(engine, 'server_info', { method: 'GET', body: undefined });
    expect([got.status, got.json['status'], got.json['body']]).toEqual([500, 500, { oops: 1 }]);
    expect(got.headers['x-smg-routed-worker-id']).toBeUndefined();
  });

  it('[RL37] bad paths and methods do not reach the engine', async () => {
    const before = engine.counters.received;
    expect((await gateway.rl.ask('/workers/nope/engine/')).json['error']).toBe(
      'invalid_engine_path',
    );
    expect((await gateway.rl.ask('/workers/nope/engine/x')).json).toMatchObject({
      error: 'worker_not_found',
      id: 'nope',
    });
    expect((await gateway.rl.ask(`/workers/${id}/engine/x`, { method: 'DELETE' })).status).toBe(
      405,
    );
    expect(engine.counters.received).toBe(before);
  });

  it('[RL38] a dead engine is 502, a slow one 504 with the deadline in its text', async () => {
    const dead = await new MockEngine().start();
    await workersOf(gateway.url).added({ url: dead.url, health: { disable_health_check: true } });
    const deadId = await gateway.rl.id(dead);
    await dead.stop();
    const unreachable = await gateway.rl.ask(`/workers/${deadId}/engine/flush_cache`, { body: {} });
    expect([unreachable.status, unreachable.json]).toMatchObject([
      502,
      { error: 'upstream_unreachable', worker_id: deadId, url: dead.url },
    ]);
    expect(unreachable.json['message']).toContain(`upstream \`${dead.url}\` unreachable: `);
    engine.behave({ route: '/flush_cache', delayMs: 3_000 });
    const slow = await gateway.rl.call(engine, 'flush_cache');
    expect([slow.status, slow.json]).toEqual([
      504,
      {
        error: 'upstream_timeout',
        message: `upstream \`${engine.url}\` timed out after 1s`,
        worker_id: id,
        url: engine.url,
      },
    ]);
  });

  it('[RL39] decision 15: a deadline that expires inside the body is a timeout too', async () => {
    engine.behave({ route: '/flush_cache', body: 'x'.repeat(10), delayBodyMs: 3_000 });
    const got = await gateway.rl.call(engine, 'flush_cache');
    expect([got.status, got.json['error']]).toEqual([504, 'upstream_timeout']);
  });

  it('an answer that breaks off is unreachable', async () => {
    engine.behave({ route: '/flush_cache', body: 'x'.repeat(99), cut: { how: 'reset', at: 9 } });
    expect((await gateway.rl.call(engine, 'flush_cache')).json['error']).toBe(
      'upstream_unreachable',
    );
  });

  it('[RL40] more than 1 MiB is cut to its first MiB, as a string', async () => {
    engine.behave({ route: '/server_info', body: { pad: 'y'.repeat(MIB) } });
    const got = await gateway.rl.call(engine, 'server_info', { method: 'GET', body: undefined });
    expect([got.status, got.json['body_truncated']]).toEqual([200, true]);
    expect(typeof got.json['body']).toBe('string');
    expect(Buffer.byteLength(got.json['body'])).toBe(MIB);
    const exact = JSON.stringify('z'.repeat(MIB - 2));
    engine.behave({ route: '/server_info', body: exact });
    const whole = await gateway.rl.call(engine, 'server_info', { method: 'GET', body: undefined });
    expect('body_truncated' in whole.json).toBe(false);
    expect(whole.json['body']).toHaveLength(MIB - 2);
  });

  it('an answer that never ends is cut, not waited for', async () => {
    const endless = Array.from({ length: 40 }, () => 'x'.repeat(64 * 1024));
    engine.behave({ route: '/server_info', chunks: [...endless, { data: 'end', delayMs: 5_000 }] });
    const got = await gateway.rl.call(engine, 'server_info', { method: 'GET', body: undefined });
    expect([got.status, got.json['body_truncated']]).toEqual([200, true]);
  });

  it('big integers and number spellings of the engine survive', async () => {
    const text = '{"a":12345678901234567890,"b":7.0}';
    engine.behave({ route: '/server_info', body: text });
    const got = await gateway.rl.call(engine, 'server_info', { method: 'GET', body: undefined });
    expect(got.text).toContain(`"body":${text}`);
  });

  it('[RL41] control calls leave breaker and load alone, failures too', async () => {
    engine.behave({ route: '/flush_cache', status: 500 });
    for (let i = 0; i < 30; i += 1) await gateway.rl.call(engine, 'flush_cache');
    const worker = await workersOf(gateway.url).byUrl(engine.url);
    expect([worker.status, worker.load]).toEqual(['ready', 0]);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_cb_consecutive_failures', { worker: engine.url })).toBe(0);
    expect((await send(`${gateway.url}/generate`, { body: { text: 'x' } })).status).toBe(200);
  });

  it('[RL43] HEAD reaches the engine as HEAD', async () => {
    const got = await gateway.rl.ask(`/workers/${id}/engine/health`, { method: 'HEAD' });
    expect([got.status, got.text]).toEqual([200, '']);
    expect(last('/health').method).toBe('HEAD');
  });

  it('a body over --max-payload-size is 413, and a large one below it passes', async () => {
    const big = Buffer.alloc(3 * MIB + 1, 32);
    expect((await gateway.rl.call(engine, 'load_lora_adapter', { body: big })).status).toBe(413);
    const fits = Buffer.alloc(3 * MIB, 32);
    await gateway.rl.call(engine, 'load_lora_adapter', { body: fits });
    expect(last('/load_lora_adapter').body).toHaveLength(3 * MIB);
  });

  it('the caller leaves: the engine call is called off, and nothing is observed', async () => {
    engine.behave({ route: '/pause_generation', delayMs: 800 });
    const leaving = new AbortController();
    const before = engine.counters.aborted;
    await new Promise<void>((resolve) => {
      const outgoing = request(
        `${gateway.url}/v1/rl/workers/${id}/engine/pause_generation`,
        { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false },
        () => undefined,
      );
      outgoing.on('error', () => undefined);
      outgoing.on('close', resolve);
      outgoing.end('{}');
      leaving.signal.addEventListener('abort', () => outgoing.destroy());
      void engine
        .waitUntil(() => engine.requestsTo('/pause_generation').length > 0)
        .then(() => {
          leaving.abort();
        });
    });
    await engine.waitUntil(() => engine.counters.aborted > before);
    expect(await gateway.rl.row(engine)).toMatchObject({ control: 'active' });
  });

  describe('[RL31] paths as they travel', () => {
    const raw = async (path: string): Promise<number> =>
      statusOf(
        (
          await sendRaw(
            gateway.port,
            `GET /v1/rl/workers/${id}/engine/${path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`,
          )
        ).text,
      );
    const seen = (): string | undefined => engine.requests.at(-1)?.path;

    it.each([
      ['server_info', '/server_info'],
      ['/server_info', '/server_info'],
      ['inference/v1/generate', '/inference/v1/generate'],
      ['v1/chat/completions/render', '/v1/chat/completions/render'],
      ['a.b-c_d', '/a.b-c_d'],
      ['a%2Fb', '/a/b'],
      ['%61bc', '/abc'],
    ])('%s goes to %s', async (path, target) => {
      await raw(path);
      expect(seen()).toBe(target);
    });

    it.each([
      '',
      '/',
      '//pause',
      'pause/',
      '../workers',
      'a/../b',
      './a',
      'a/b/c/d/e',
      'pause%20generation',
      'pause%3Fmode=keep',
      'pause%23frag',
      '%2e%2e/x',
      'paus%C3%A9',
      'pause%2520generation',
      'a%00b',
      'a;b',
      'a:b',
    ])('%s is refused', async (path) => {
      const before = engine.counters.received;
      expect(await raw(path)).toBe(400);
      expect(engine.counters.received).toBe(before);
    });
  });

  it.each([
    ['mode=keep&selector=x&level=2', '?mode=keep&level=2'],
    ['selector=x', ''],
    ['tags=a&tags=b&selector=x', '?tags=a&tags=b'],
    ['selectorx=1', '?selectorx=1'],
    ['flag&&selector=x', '?flag'],
    ['a=%20+b%2F', '?a=%20+b%2F'],
  ])('[RL32] query %s becomes %s', async (query, left) => {
    await gateway.rl.call(engine, `server_info?${query}`, { method: 'GET', body: undefined });
    expect(engine.requests.at(-1)?.path).toBe(`/server_info${left}`);
  });
});
