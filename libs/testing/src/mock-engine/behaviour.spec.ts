import { Agent } from 'node:http';
import { connect } from 'node:net';
import { send } from './http-client';
import { MockEngine } from './mock-engine';
import { MockTcpEngine } from './mock-tcp-engine';

describe('scripted answers', () => {
  let engine: MockEngine;
  const generate = () => send(`${engine.url}/generate`, 'POST', { text: 'x' });

  beforeEach(async () => {
    engine = new MockEngine();
    await engine.start();
  });
  afterEach(() => engine.stop());

  it('apply so many times, to one path, the latest first', async () => {
    engine.behave({ route: '/generate', status: 429, headers: { 'retry-after': '3' } });
    const takeBack = engine.behave({ route: '/generate', times: 1, status: 503 });
    expect((await generate()).status).toBe(503);
    const got = await generate();
    expect([got.status, got.headers['retry-after']]).toEqual([429, '3']);
    expect((await send(`${engine.url}/model_info`)).status).toBe(200);
    takeBack();
    engine.behaveNormally();
    expect((await generate()).status).toBe(200);
  });

  it('keep raw headers: case, order and repeats', async () => {
    const headers = ['Set-Cookie', 'a=1', 'X-SMG-Routed-Worker-Id', 'forged', 'Set-Cookie', 'b=2'];
    engine.behave({ headers });
    const got = await generate();
    expect(got.status).toBe(200);
    const raw = got.rawHeaders.join('\n');
    expect(raw).toContain(headers.join('\n'));
    expect(got.json().text).not.toBe('');
  });

  it('send chunks one by one, in pieces of any bytes', async () => {
    const bytes = Buffer.from('data: "汉字🙂"\n\n');
    const chunks = [...bytes].map((byte) => Buffer.from([byte]));
    engine.behave({ chunks });
    const got = await generate();
    expect(got.body.equals(bytes)).toBe(true);
    expect(got.headers['transfer-encoding']).toBe('chunked');
  });

  it('frame a body by closing the connection', async () => {
    engine.behave({ chunks: ['abc', 'def'], framing: 'close' });
    const got = await generate();
    expect([got.text, got.broken]).toEqual(['abcdef', undefined]);
    expect(got.headers).not.toHaveProperty('transfer-encoding');
    expect(got.headers).not.toHaveProperty('content-length');
  });

  it('answer 200 with no body at all', async () => {
    engine.behave({ status: 200, body: '' });
    const got = await generate();
    expect([got.status, got.body.length, got.headers['content-length']]).toEqual([200, 0, '0']);
  });

  it.each(['reset', 'fin'] as const)('%s after n bytes of a body, scripted or not', async (how) => {
    engine.behave({ chunks: ['hello ', 'world'], cut: { how, at: 8 }, times: 1 });
    const scripted = await generate();
    expect([scripted.text, typeof scripted.broken]).toEqual(['hello wo', 'string']);
    engine.behave({ cut: { how, at: 5 }, times: 1 });
    const normal = await generate();
    expect([normal.text, typeof normal.broken]).toEqual(['{"tex', 'string']);
    expect((await generate()).broken).toBeUndefined();
    expect(
      engine.requests.slice(0, 2).every(({ finished, aborted }) => !finished && !aborted),
    ).toBe(true);
  });

  it.each(['accept', 'request-head', 'request'] as const)('reset at %s: no head', async (at) => {
    engine.behave({ cut: { how: 'reset', at }, times: 1 });
    await expect(generate()).rejects.toThrow(/ECONNRESET|socket hang up/);
    expect((await generate()).status).toBe(200);
  });

  it('cut after the head', async () => {
    engine.behave({ status: 200, chunks: ['x'], cut: { how: 'reset', at: 'head' } });
    const got = await generate();
    expect([got.status, got.text, typeof got.broken]).toEqual([200, '', 'string']);
  });

  it('hang until the client leaves, and stop does not wait for it', async () => {
    engine.behave({ cut: { how: 'hang', at: 'request' } });
    const hanging = generate();
    hanging.catch(() => undefined);
    await engine.waitUntil(() => engine.counters.inFlight === 1);
    await engine.stop();
    await expect(hanging).rejects.toThrow();
    expect([engine.connections, engine.counters.inFlight]).toEqual([0, 0]);
  });

  it('send a raw head no library would', async () => {
    engine.behave({ rawHead: 'HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\n', body: 'ok' });
    const text = await new Promise<string>((resolve) => {
      const socket = connect(engine.port, '127.0.0.1', () => {
        socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
      });
      let all = '';
      socket.on('data', (data) => (all += data.toString('latin1')));
      socket.on('close', () => resolve(all));
    });
    expect(text).toBe('HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok');
  });
});

describe('what a mock engine sees', () => {
  it('logs requests as sent, within its bound, and counts all of them', async () => {
    const engine = new MockEngine({ keepRequests: 2 });
    await engine.start();
    for (const n of [1, 2, 3]) {
      await send(`${engine.url}/generate?n=${n}`, 'POST', `{"text":"x","big":9007199254740993}`, {
        headers: { 'X-Odd-Case': 'kept' },
      });
    }
    expect(engine.requests.map(({ path }) => path)).toEqual(['/generate?n=2', '/generate?n=3']);
    const last = engine.requests.at(-1)!;
    expect(last.body.toString()).toBe('{"text":"x","big":9007199254740993}');
    expect(last.headers).toContain('X-Odd-Case');
    expect(last.header('x-odd-case')).toBe('kept');
    expect(engine.counters).toMatchObject({ received: 3, served: 3, inFlight: 0, peak: 1 });
    expect(engine.counters.of('/generate')).toBe(3);
    await engine.stop();
  });

  it('notices a client that leaves, and stops generating for it', async () => {
    const engine = new MockEngine({ tokens: 10_000, tokenLatencyMs: 2 });
    await engine.start();
    const agent = new Agent();
    const answer = send(`${engine.url}/generate`, 'POST', { text: 'x', stream: true }, { agent });
    answer.catch(() => undefined);
    await engine.waitUntil(() => [...engine.state.running].some((one) => one.tokens.length > 3));
    agent.destroy();
    await engine.waitUntil(() => engine.state.running.size === 0);
    expect(engine.requests[0]).toMatchObject({ aborted: true, finished: false });
    expect(engine.counters).toMatchObject({ aborted: 1, inFlight: 0 });
    await engine.stop();
  });

  it('runs hooks before the answer', async () => {
    const engine = new MockEngine();
    await engine.start();
    let seen = '';
    const off = engine.onRequest((request) => {
      seen = request.body.toString();
      engine.weightVersion = '7';
    });
    const got = await send(`${engine.url}/generate`, 'POST', { text: 'x' });
    expect(seen).toBe('{"text":"x"}');
    expect(got.json().meta_info.weight_version).toBe('7');
    off();
    await engine.stop();
  });

  it('asks for its key everywhere but on /health', async () => {
    const engine = new MockEngine({ apiKey: 'k' });
    await engine.start();
    expect((await send(`${engine.url}/health`)).status).toBe(200);
    expect((await send(`${engine.url}/v1/models`)).status).toBe(401);
    const headers = { authorization: 'Bearer k' };
    expect((await send(`${engine.url}/v1/models`, 'GET', undefined, { headers })).status).toBe(200);
    await engine.stop();
  });

  it('fails the share of inference it was told to, and nothing else', async () => {
    const draws = [0.1, 0.9, 0.3, 0.6];
    const random = () => draws.shift() ?? 1;
    const engine = new MockEngine({ failRate: 0.5, failStatus: 502, random });
    await engine.start();
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      statuses.push((await send(`${engine.url}/generate`, 'POST', { text: 'x' })).status);
      expect((await send(`${engine.url}/health`)).status).toBe(200);
    }
    expect(statuses).toEqual([502, 200, 502, 200]);
    await engine.stop();
  });
});

describe('MockTcpEngine', () => {
  it('answers each request with exact bytes and can keep the connection', async () => {
    const engine = new MockTcpEngine({ bytes: ['HTTP/1.1 200 OK\r\n', '\r\n'], then: 'keep' });
    await engine.start();
    const { port } = new URL(engine.url);
    const received = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write('POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc');
      });
      let all = '';
      socket.on('data', (data) => {
        all += data.toString();
        if (all.endsWith('\r\n\r\n')) {
          socket.destroy();
          resolve(all);
        }
      });
    });
    expect(received).toBe('HTTP/1.1 200 OK\r\n\r\n');
    expect(engine.received.map(String)).toEqual([
      'POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc',
    ]);
    await engine.stop();
  });

  it('resets a connection as soon as it is made', async () => {
    const engine = new MockTcpEngine({ bytes: [], after: 'accept', then: 'reset' });
    await engine.start();
    await expect(send(engine.url)).rejects.toThrow();
    await engine.stop();
  });
});
