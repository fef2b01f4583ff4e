import { MockEngine } from '@smg/testing';
import { createServer, type Socket } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatStream } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

describeLanes('answers of engines', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane, timeoutSecs: 1, maxPayloadSize: 16 * 1024 },
        health: { checksDisabled: true },
        breaker: { failureThreshold: 1_000_000 },
        retry: { maxAttempts: 1 },
      },
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

  const ask = (body: object = chat()) => send(`${gateway.url}${CHAT}`, { body });
  const failures = async () =>
    sample(await gateway.metrics(), 'smg_worker_cb_outcomes_total', { outcome: 'failure' });

  const NONSENSE: readonly (readonly [string, string])[] = [
    ['status 099', 'HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nhi'],
    ['status 000', 'HTTP/1.1 000 What\r\nContent-Length: 2\r\n\r\nhi'],
    ['status 600', 'HTTP/1.1 600 What\r\nContent-Length: 2\r\n\r\nhi'],
    ['status 999', 'HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\nhi'],
    ['a status of four digits', 'HTTP/1.1 2000 What\r\nContent-Length: 2\r\n\r\nhi'],
    ['no status', 'HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nhi'],
    [
      '101 nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhi',
    ],
    ['101 without upgrade', 'HTTP/1.1 101 Switching Protocols\r\n\r\nhi'],
    ['HTTP/0.9', 'hello there\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    [
      'Content-Length beside Transfer-Encoding',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two Content-Lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!'],
    ['NUL in a header', 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\nhi'],
    [
      'a head larger than 64 KiB',
      `HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(70_000)}\r\nContent-Length: 2\r\n\r\nhi`,
    ],
  ];

  it.each(NONSENSE)(
    '[R42] %s is 502, the worker is marked, the gateway serves on',
    async (_what, rawHead) => {
      for (const body of [chat(), chatStream()]) {
        const failed = await failures();
        engine.behave({ route: CHAT, rawHead });
        const answer = await ask(body);
        expect(answer.status).toBe(502);
        expect(answer.json['error']).toMatchObject({ type: 'Bad Gateway', param: null });
        expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
        expect(await failures()).toBeGreaterThan(failed);
        engine.behaveNormally();
        expect((await ask()).status).toBe(200);
      }
    },
  );

  it('interim answers before the real one are skipped', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const real = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    engine.behave({ route: CHAT, rawHead: hints + real });
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('{}');
    expect(answer.headers['link']).toBeUndefined();
  });

  describe('[R44] the status and the error of an engine are its own', () => {
    it.each([400, 401, 403, 404, 409, 413, 422, 429, 500, 501, 502, 503, 504, 529])(
      '%i with a JSON error passes untouched, streamed or not',
      async (status) => {
        const body = `{ "error": {"message": "engine ${status}", "n": 9007199254740993} }`;
        engine.behave({ route: CHAT, status, body });
        for (const request of [chat(), chatStream()]) {
          const answer = await ask(request);
          expect(answer.status).toBe(status);
          expect(answer.text).toBe(body);
          expect(answer.headers['x-smg-error-code']).toBeUndefined();
          expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
        }
      },
    );

    it('an HTML page of a proxy in between stays HTML', async () => {
      const page = '<html><h1>502 Bad Gateway</h1></html>';
      engine.behave({
        route: CHAT,
        status: 502,
        body: page,
        headers: { 'content-type': 'text/html' },
      });
      const answer = await ask();
      expect(answer.status).toBe(502);
      expect(answer.text).toBe(page);
      expect(answer.headers['content-type']).toBe('text/html');
    });
  });

  describe('[R44] failures of the gateway come in one envelope', () => {
    it.each([
      ['no head', { delayMs: 10_000 }],
      ['a head and no body', { body: { a: 1 }, delayBodyMs: 10_000 }],
    ])('a deadline that passes with %s is 504', async (_what, behaviour) => {
      engine.behave({ route: CHAT, ...behaviour });
      const answer = await ask();
      expect(answer.status).toBe(504);
      expect(answer.headers['x-smg-error-code']).toBe('call_upstream_timeout');
      expect(answer.json).toEqual({
        error: {
          type: 'Gateway Timeout',
          code: 'call_upstream_timeout',
          message: expect.stringContaining('1 s') as string,
          param: null,
        },
      });
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
    });

    it.each(['reset', 'fin'] as const)(
      'a connection lost by %s before the head is 502',
      async (how) => {
        engine.behave({ route: CHAT, cut: { how, at: 'request' } });
        const answer = await ask();
        expect(answer.status).toBe(502);
        expect(answer.headers['x-smg-error-code']).toBe('call_upstream_request_error');
        expect(answer.json['error']).toMatchObject({ code: 'call_upstream_request_error' });
        expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
      },
    );

    it('no error answer shows a stack', async () => {
      engine.behave({ route: CHAT, cut: { how: 'reset', at: 'request' } });
      expect((await ask()).text).not.toMatch(/\bat \S+ \(|node_modules|\.ts:/);
    });
  });

  it.each<[string, object, Parameters<MockEngine['behave']>[0]]>([
    [
      'the head of a stream',
      chatStream(),
      { chunks: ['data: {}\n\n'], cut: { how: 'hang', at: 'head' } },
    ],
    ['a frame', chatStream(), { chunks: ['data: {}\n\n'], cut: { how: 'hang', at: 10 } }],
    ['part of a buffered answer', chat(), { body: { a: 'b' }, cut: { how: 'hang', at: 4 } }],
  ])(
    '[reliability] an engine that hangs after %s: no clean end, after the deadline',
    async (_what, body, behaviour) => {
      engine.behave({ route: CHAT, ...behaviour });
      const answer = await ask(body);
      if (answer.status === 200) {
        expect(answer.aborted).toBe(true);
        expect(answer.text).toContain('upstream_stream_truncated');
        expect(answer.text).not.toContain('[DONE]');
      } else {
        expect(answer.status).toBe(504);
        expect(answer.headers['x-smg-error-code']).toBe('call_upstream_timeout');
      }
      await until('the engine is told', () => engine.counters.inFlight === 0);
    },
  );

  it.each([
    [
      'a chunked stream',
      chatStream(),
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nf\r\ndata: {"a":1}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n',
    ],
    [
      'a stream that ends by closing',
      chatStream(),
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"a":1}\n\ndata: [DONE]\n\n',
    ],
    [
      'a JSON answer with a length',
      chat(),
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"a":"12345678"}',
    ],
    [
      'a chunked JSON answer',
      chat(),
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"a":"12\r\n8\r\n345678"}\r\n0\r\n\r\n',
    ],
  ])(
    '[reliability] %s cut at every byte of the wire never ends cleanly',
    async (_what, body, wire) => {
      const [head = '', rest = ''] = wire.split('\r\n\r\n', 2);
      const isWhole = (cut: number): boolean => {
        if (head.includes('chunked')) return cut >= wire.length;
        // The marker, without the line ends after it, is the end of such a stream.
        if (!head.includes('Length')) return cut >= head.length + 4 + rest.trimEnd().length;
        return cut >= wire.length;
      };
      for (let cut = 1; cut <= wire.length; cut += 1) {
        const forget = engine.behave({ route: CHAT, rawHead: wire.slice(0, cut) });
        const answer = await ask(body);
        forget();
        const isClean = answer.status === 200 && !answer.aborted;
        expect([cut, isClean]).toEqual([cut, isWhole(cut)]);
        if (answer.status !== 200) expect([500, 502]).toContain(answer.status);
      }
    },
  );

  it('[G37] an answer over the limit is 502 upstream_response_too_large, a small one is 200', async () => {
    for (const framing of ['length', 'chunked'] as const) {
      engine.behave({ route: CHAT, body: { text: 'x'.repeat(64 * 1024) }, framing });
      const large = await ask();
      expect(large.status).toBe(502);
      expect(large.headers['x-smg-error-code']).toBe('upstream_response_too_large');
      expect((large.json['error'] as { code: string }).code).toBe('upstream_response_too_large');
      engine.behaveNormally();
    }
    engine.behave({ route: CHAT, body: { text: 'x'.repeat(1024) } });
    expect((await ask()).status).toBe(200);
  });
});

describe('engines out of reach', () => {
  it('[R44] refused connections are 502, and the process lives on', async () => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway(
      {
        health: { checksDisabled: true },
        breaker: { disabled: true },
        retry: { initialBackoffMs: 1, maxBackoffMs: 5 },
      },
      { engines: [engine] },
    );
    try {
      engine.crash();
      for (let at = 0; at < 5; at += 1) {
        const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
        expect(answer.status).toBe(502);
        expect(answer.headers['x-smg-error-code']).toBe('call_upstream_request_error');
        expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
      }
      await engine.start();
      expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });

  it('[reliability] an engine that accepts and never speaks is 504 after the deadline', async () => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway(
      { health: { checksDisabled: true }, requests: { timeoutSecs: 1 }, retry: { disabled: true } },
      { engines: [engine] },
    );
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    try {
      const { port } = engine;
      await engine.stop();
      await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
      const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
      expect(answer.status).toBe(504);
    } finally {
      await gateway.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    }
  });

  it('[R39] workers whose URL and path could run together each get their own requests', async () => {
    const host = new MockEngine();
    await host.start();
    const gateway = await startGateway({
      health: { checksDisabled: true },
      routing: { policy: 'round_robin' },
    });
    const prefixes = ['/a', '/ab', '/a/generate'];
    try {
      for (const prefix of prefixes) {
        host.behave({ when: ({ route }) => route.startsWith(`${prefix}/`), body: { prefix } });
        await send(`${gateway.url}/workers`, {
          body: { url: `${host.url}${prefix}`, models: [{ id: 'm' }], runtime_type: 'sglang' },
        });
      }
      await until('all are ready', async () => {
        const { json } = await send(`${gateway.url}/readiness`);
        return json['healthy_workers'] === prefixes.length;
      });
      for (let at = 0; at < 30; at += 1) {
        const answer = await send(`${gateway.url}/generate`, { body: { model: 'm', text: 'x' } });
        expect(answer.status).toBe(200);
        const worker = String(answer.headers['x-smg-routed-worker-id']);
        const reached = host.requests.filter(({ method }) => method === 'POST').at(-1);
        expect(`${host.url}${reached?.route ?? ''}`).toBe(`${worker}/generate`);
      }
      const used = new Set(
        host.requests.filter(({ method }) => method === 'POST').map(({ route }) => route),
      );
      expect(used).toEqual(new Set(prefixes.map((prefix) => `${prefix}/generate`)));
    } finally {
      await gateway.close();
      await host.stop();
    }
  });
});
