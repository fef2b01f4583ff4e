import { MockEngine, type Behaviour } from '@smg/testing';
import { gzipSync } from 'node:zlib';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatStream, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

const valuesOf = (raw: readonly string[], name: string): string[] =>
  raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);

describeLanes('headers', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      { requests: { hotLane }, health: { checksDisabled: true } },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterEach(() => {
    engine.behaveNormally();
  });

  const ask = (headers: Record<string, string | string[]> = {}, body: object = chat()) =>
    send(`${gateway.url}${CHAT}`, { body, headers });
  const seen = () => engine.requestsTo(CHAT).at(-1);
  const answering = (headers: readonly string[], more: Behaviour = {}) => {
    engine.behave({ route: CHAT, headers, body: { ok: true }, ...more });
  };

  describe.each([
    ['buffered', chat()],
    ['streamed', chatStream()],
  ])('%s', (kind, body) => {
    const scripted = (headers: readonly string[]) => {
      if (kind === 'buffered') answering(headers);
      else engine.behave({ route: CHAT, headers, chunks: ['data: {}\n\n', 'data: [DONE]\n\n'] });
    };

    it('[R26] gateway-owned headers have one value, ours, whoever forges them', async () => {
      const forged = [
        'x-smg-routed-worker-id',
        'X-SMG-Weight-Version',
        'x-smg-error-code',
        'X-Smg-Anything',
      ];
      scripted([...forged.flatMap((name) => [name, 'forged']), 'X-Request-Id', 'forged']);
      const headers = Object.fromEntries(forged.map((name) => [name, 'forged']));
      const answer = await ask({ ...headers, 'x-request-id': 'mine-1' }, body);
      expect(answer.status).toBe(200);
      expect(valuesOf(answer.rawHeaders, 'x-smg-routed-worker-id')).toEqual([engine.url]);
      expect(valuesOf(answer.rawHeaders, 'x-request-id')).toEqual(['mine-1']);
      expect(JSON.stringify(answer.rawHeaders)).not.toContain('forged');
      expect(JSON.stringify(seen()?.headers)).not.toContain('forged');
      expect(await gateway.metrics()).not.toContain('forged');
    });

    it('[headers] hop-by-hop headers and those Connection names stay behind, both ways', async () => {
      scripted([
        'Connection',
        'close, X-Hop',
        'X-Hop',
        '1',
        'Keep-Alive',
        'timeout=1',
        'X-End',
        '2',
      ]);
      const answer = await ask(
        {
          connection: 'close, x-smg-routing-key, x-request-id',
          te: 'trailers',
          'proxy-authorization': 'Basic secret',
          'x-smg-routing-key': 'k1',
          'x-request-id': 'mine-2',
        },
        body,
      );
      expect(answer.headers['x-hop']).toBeUndefined();
      expect(answer.headers['keep-alive']).not.toBe('timeout=1');
      expect(answer.headers['x-end']).toBe('2');
      // A client cannot delete what the gateway answers by naming it in Connection.
      expect(valuesOf(answer.rawHeaders, 'x-request-id')).toEqual(['mine-2']);
      expect(valuesOf(answer.rawHeaders, 'x-smg-routed-worker-id')).toEqual([engine.url]);
      for (const name of ['te', 'proxy-authorization', 'proxy-connection', 'upgrade', 'trailer']) {
        expect(seen()?.values(name)).toEqual([]);
      }
    });

    it('[headers] an engine cannot delete the stamps by naming them in Connection', async () => {
      scripted(['Connection', 'close, x-smg-routed-worker-id, x-request-id']);
      const answer = await ask({ 'x-request-id': 'mine-3' }, body);
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
      expect(answer.headers['x-request-id']).toBe('mine-3');
    });

    it('repeated response headers stay repeated', async () => {
      scripted(['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Two', '1', 'x-two', '2']);
      const answer = await ask({}, body);
      expect(valuesOf(answer.rawHeaders, 'set-cookie')).toEqual(['a=1', 'b=2']);
      expect(valuesOf(answer.rawHeaders, 'x-two')).toEqual(['1', '2']);
    });
  });

  it('[R24] [#72] whatever the client sends, one Content-Length and one Host reach the engine', async () => {
    const odd = [
      'cONTENT-tYPE: text/plain',
      'X-Request-Id: a\tb',
      'X-Request-Id-Extra: 1',
      'TRACEPARENT: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'X-Smg-Routing-Key: \xe4\xf6',
      'Cookie: a=1',
      'User-Agent: x',
    ];
    const body = JSON.stringify(chat());
    const answer = await sendRaw(gateway.port, rawPost(CHAT, body, [...odd, 'Connection: close']));
    expect(answer.text).toMatch(/^HTTP\/1\.1 200 /);
    const request = seen();
    expect(request?.values('content-length')).toEqual([String(body.length)]);
    expect(request?.values('host')).toEqual([engine.url.slice('http://'.length)]);
    expect(request?.values('content-type')).toEqual(['application/json']);
    expect(request?.values('transfer-encoding')).toEqual([]);
    expect(request?.headers.join('\n')).not.toMatch(/[\r\0]/);
    expect(request?.values('cookie')).toEqual([]);
    expect(request?.values('user-agent')).toEqual([]);
  });

  it('[#71] an error in place of an answer has the length of its own bytes', async () => {
    answering(['x', 'y'], { body: 'x'.repeat(500), cut: { how: 'reset', at: 100 } });
    const answer = await ask();
    expect(answer.status).toBe(500);
    expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
    expect(answer.json['error']).toBeDefined();
  });

  it('[#71] HEAD, 204 and 304 carry no body and no stale framing', async () => {
    for (const status of [204, 304]) {
      engine.behave({ route: CHAT, times: 1, status, body: '' });
      const answer = await ask();
      expect(answer.status).toBe(status);
      expect(answer.body).toHaveLength(0);
      expect(answer.aborted).toBe(false);
    }
    const head = await send(`${gateway.url}/get_model_info`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.body).toHaveLength(0);
  });

  describe('request ids', () => {
    it('[G44] x-request-id is echoed unchanged', async () => {
      const answer = await ask({ 'x-request-id': 'test-request-id-12345' });
      expect(answer.headers['x-request-id']).toBe('test-request-id-12345');
    });

    it('[G45] without one the id tells the kind of request', async () => {
      const generated = await send(`${gateway.url}/generate`, { body: generate() });
      expect(generated.headers['x-request-id']).toMatch(/^gnt-[0-9A-Za-z]{24}$/);
      expect((await ask()).headers['x-request-id']).toMatch(/^chatcmpl-[0-9A-Za-z]{24}$/);
    });

    it('[G46] x-correlation-id counts alone, and x-request-id wins over it', async () => {
      const alone = await ask({ 'x-correlation-id': 'correlation-123' });
      expect(alone.headers['x-request-id']).toBe('correlation-123');
      const both = await ask({ 'x-correlation-id': 'correlation-123', 'x-request-id': 'first' });
      expect(both.headers['x-request-id']).toBe('first');
    });

    it.each([
      ['both', { 'x-request-id': 'r76-both' }, true],
      ['only an id', { 'x-request-id': 'r76-id' }, false],
      ['only a traceparent', {}, true],
      ['neither', {}, false],
    ])('[R76] with %s: one id in answer, log and engine', async (_what, headers, traced) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const answer = await ask({ ...headers, ...(traced ? { traceparent } : {}) });
      const ids = valuesOf(answer.rawHeaders, 'x-request-id');
      expect(ids).toHaveLength(1);
      if ('x-request-id' in headers) {
        expect(ids).toEqual([headers['x-request-id']]);
        expect(seen()?.values('x-request-id')).toEqual(ids);
      } else {
        // An id made here is for the answer and the log.
        expect(seen()?.values('x-request-id')).toEqual([]);
      }
      expect(seen()?.values('traceparent')).toEqual(traced ? [traceparent] : []);
      await until('the log has it', () => gateway.logs.some((l) => l['request_id'] === ids[0]));
      expect(gateway.logs.filter((l) => l['request_id'] === ids[0])).toHaveLength(1);
    });

    it.each([
      ['control characters', 'a\x01b'],
      ['Latin-1', 'caf\xe9'],
      ['300 characters', 'x'.repeat(300)],
    ])('[logs] an id of %s is replaced, and the log stays one JSON line', async (_what, id) => {
      const body = JSON.stringify(chat());
      const answer = await sendRaw(
        gateway.port,
        rawPost(CHAT, body, [`X-Request-Id: ${id}`, 'Connection: close']),
      );
      // A control character already makes the message unacceptable to the parser.
      if (answer.text.startsWith('HTTP/1.1 400')) return;
      expect(/^x-request-id: (.*)\r$/im.exec(answer.text)?.[1]).toMatch(
        /^chatcmpl-[0-9A-Za-z]{24}$/,
      );
    });
  });

  it('[G49] headers outside the list are not forwarded', async () => {
    await ask({ 'x-not-allowlisted': '1', cookie: 'a=1', 'x-api-key': 'secret', accept: 'x/y' });
    const names = (seen()?.headers ?? [])
      .filter((_, at) => at % 2 === 0)
      .map((n) => n.toLowerCase());
    for (const name of ['x-not-allowlisted', 'cookie', 'x-api-key', 'accept', 'user-agent']) {
      expect(names).not.toContain(name);
    }
  });

  it('[R27] without serving keys a client credential passes, once', async () => {
    await ask({ authorization: 'Bearer C' });
    expect(seen()?.values('authorization')).toEqual(['Bearer C']);
    await ask();
    expect(seen()?.values('authorization')).toEqual([]);
  });

  it('[G50] a forged X-SMG-Error-Code is neither relayed nor a label', async () => {
    answering(['X-SMG-Error-Code', 'forged_code'], { status: 418 });
    const answer = await ask();
    expect(answer.status).toBe(418);
    expect(answer.headers['x-smg-error-code']).toBeUndefined();
    const page = await gateway.metrics();
    expect(page).not.toContain('forged_code');
    expect(
      sample(page, 'smg_http_responses_total', { status_code: '418', error_code: '' }),
    ).toBeGreaterThan(0);
  });

  it.each(['3', '0', 'Wed, 21 Oct 2065 07:28:00 GMT', 'garbage', '1000000000'])(
    '[R49] Retry-After: %s of an engine reaches the client as it is, at once',
    async (value) => {
      engine.behave({ route: CHAT, status: 429, headers: ['Retry-After', value] });
      const startedAt = performance.now();
      const answer = await ask();
      expect(answer.status).toBe(429);
      expect(valuesOf(answer.rawHeaders, 'retry-after')).toEqual([value]);
      // Back-off only: 50 ms growing to 170 ms over the four further attempts, never the header's time.
      expect(performance.now() - startedAt).toBeLessThan(5_000);
    },
  );

  it('[R36] an encoded answer keeps its bytes and says so', async () => {
    const bytes = gzipSync('{"ok":true}');
    answering(['Content-Encoding', 'gzip', 'Content-Type', 'application/json'], { body: bytes });
    const answer = await ask({ 'accept-encoding': 'gzip, zstd' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.body.equals(bytes)).toBe(true);
    expect(seen()?.values('accept-encoding')).toEqual(['identity']);
  });

  it('[R36] an encoded answer where the gateway reads JSON is a failure, not a crash', async () => {
    for (const encoding of ['gzip', 'zstd', Array(100).fill('gzip').join(', ')]) {
      engine.behave({
        route: '/v1/loads',
        times: 1,
        headers: ['Content-Encoding', encoding],
        body: gzipSync('{"loads":[]}'),
      });
      const answer = await send(`${gateway.url}/get_loads`);
      expect(answer.status).toBe(200);
      expect(answer.json['workers']).toEqual([expect.objectContaining({ worker: engine.url })]);
    }
    expect(engine.requestsTo('/v1/loads').at(-1)?.values('accept-encoding').join()).not.toMatch(
      /gzip|br|deflate|zstd/,
    );
  });
});

describeLanes('headers with keys', ({ hotLane }) => {
  const engine = new MockEngine({ apiKey: 'worker-key' });
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway({
      requests: { hotLane, requestIdHeaders: ['custom-id', 'trace-id'] },
      health: { checksDisabled: true },
    });
    await send(`${gateway.url}/workers`, { body: { url: engine.url, api_key: 'worker-key' } });
    await until('the worker is ready', async () => {
      return (await send(`${gateway.url}/readiness`)).status === 200;
    });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  const ask = (headers: Record<string, string>) =>
    send(`${gateway.url}${CHAT}`, { body: chat(), headers });

  it('[R27] [G49] exactly one Authorization: the client passes its own, else the worker key', async () => {
    expect((await ask({})).status).toBe(200);
    expect(engine.requestsTo(CHAT).at(-1)?.values('authorization')).toEqual(['Bearer worker-key']);
    // The engine refuses a stranger's key; what counts is what it saw.
    await ask({ authorization: 'Bearer C' });
    expect(engine.requestsTo(CHAT).at(-1)?.values('authorization')).toEqual(['Bearer C']);
  });

  it('[G47] configured id headers replace the list', async () => {
    expect((await ask({ 'custom-id': 'my-custom-id' })).headers['x-request-id']).toBe(
      'my-custom-id',
    );
    const other = await ask({ 'x-request-id': 'not-read', 'trace-id': 'second' });
    expect(other.headers['x-request-id']).toBe('second');
  });

  it('[keys] the worker key is in no answer, log or metric', async () => {
    const list = await send(`${gateway.url}/workers`);
    expect(list.text).not.toContain('worker-key');
    expect(gateway.rawLogs.join('')).not.toContain('worker-key');
    expect(await gateway.metrics()).not.toContain('worker-key');
  });
});

describeLanes('headers behind serving keys', ({ hotLane }) => {
  const engine = new MockEngine({ apiKey: 'worker-key' });
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway({
      requests: { hotLane },
      health: { checksDisabled: true },
      auth: { apiKey: 'serving-key' },
    });
    await send(`${gateway.url}/workers`, {
      body: { url: engine.url, api_key: 'worker-key' },
      headers: { authorization: 'Bearer serving-key' },
    });
    await until('the worker is ready', async () => {
      return (await send(`${gateway.url}/readiness`)).status === 200;
    });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('[R27] a serving key is consumed and the worker key sent', async () => {
    const answer = await send(`${gateway.url}${CHAT}`, {
      body: chat(),
      headers: { authorization: 'Bearer serving-key' },
    });
    expect(answer.status).toBe(200);
    expect(engine.requestsTo(CHAT).at(-1)?.values('authorization')).toEqual(['Bearer worker-key']);
    for (const request of engine.requests) {
      expect(request.headers.join()).not.toContain('serving-key');
    }
  });

  it('[R69] odd credentials are 401 or 431, never 5xx, and none reaches the engine', async () => {
    const before = engine.counters.of(CHAT);
    const odd = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer   ',
      'Bearer  x',
      'bearer x',
      'Bearer\tserving-key',
      'Basic serving-key',
      'Bearerserving-key',
      'Bearer serving-key extra',
      'Bearer serving-ke',
      'Bearer serving-keyy',
      'Bearer SERVING-KEY',
      'Bearer s\xe4rving-key',
      'Bearer a.b',
      'Bearer a.b.c',
      'Bearer a.b.c.d',
      'Bearer .....',
      `Bearer ${'x'.repeat(60_000)}`,
      `Bearer ${'x'.repeat(66_000)}`,
      'Bearer other\r\nAuthorization: Bearer serving-key',
    ];
    const body = JSON.stringify(chat());
    for (const value of odd) {
      const headers = [
        ...(value === undefined ? [] : [`Authorization: ${value}`]),
        'Connection: close',
      ];
      const answer = await sendRaw(gateway.port, rawPost(CHAT, body, headers));
      const status = Number(answer.text.slice(9, 12));
      expect([400, 401, 431]).toContain(status);
      if (status === 401) {
        expect(answer.text).toMatch(/www-authenticate: bearer/i);
        expect(answer.text).toContain('"code":"invalid_api_key"');
      }
    }
    expect(engine.counters.of(CHAT)).toBe(before);
  });

  it('[R69] the scheme is read without case', async () => {
    const answer = await send(`${gateway.url}${CHAT}`, {
      body: chat(),
      headers: { authorization: 'bearer  serving-key' },
    });
    expect(answer.status).toBe(200);
  });

  it('[R69] 500 random credentials: 401 every time, in less than 20 ms each', async () => {
    const letters = 'abcdefghij.-_~+/=ABC123 \xe4\xff';
    const startedAt = performance.now();
    for (let at = 0; at < 500; at += 1) {
      const token = Array.from({ length: Math.floor(Math.random() * 60) }, () =>
        letters.charAt(Math.floor(Math.random() * letters.length)),
      ).join('');
      const answer = await send(`${gateway.url}${CHAT}`, {
        body: '{}',
        headers: { authorization: Math.random() < 0.5 ? `Bearer ${token}` : `x${token}` },
      });
      expect(answer.status).toBe(401);
    }
    expect((performance.now() - startedAt) / 500).toBeLessThan(20);
  });

  it('[keys] no key is in a log, an error or a metric', async () => {
    const everything = gateway.rawLogs.join('') + (await gateway.metrics());
    expect(everything).not.toContain('serving-key');
    expect(everything).not.toContain('worker-key');
  });
});
