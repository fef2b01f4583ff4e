import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw, statusesIn, statusOf } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const KEY = 'serving-key-1';
const AUTH = `Authorization: Bearer ${KEY}`;
const BODY = JSON.stringify(chat());
/** Characters of a request target, and lines of a head, that are still served. */
const MAX_TARGET = 16 * 1024;
const MAX_HEADERS = 256;

const get = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: g', 'Connection: close', ...headers, '', ''].join('\r\n');
const SMUGGLED = rawPost('/workers', '{"url":"http://127.0.0.1:9"}', [AUTH]);

describeLanes('limits and odd requests', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      { requests: { hotLane }, health: { checksDisabled: true }, auth: { apiKey: KEY } },
      { engines: [engine] },
    );
  });
  afterEach(async () => {
    engine.behaveNormally();
    const workers = await send(`${gateway.url}/workers`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(workers.json['total']).toBe(1);
    expect(gateway.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  const raw = async (bytes: string): Promise<string> => (await sendRaw(gateway.port, bytes)).text;
  const chatAt = (target: string, ...headers: string[]): string =>
    rawPost(target, BODY, [AUTH, 'Connection: close', ...headers]);

  describe('the length of the target', () => {
    const sized = (path: string, length: number): string =>
      `${path}?${'x'.repeat(length - path.length - 1)}`;

    it.each(['/health', '/nowhere'])('%s: served up to 16 KiB, then 414', async (path) => {
      const known = path === '/health' ? 200 : 404;
      expect(statusOf(await raw(get(sized(path, MAX_TARGET))))).toBe(known);
      const refused = await raw(get(sized(path, MAX_TARGET + 1)));
      expect(statusOf(refused)).toBe(414);
      expect(refused).toMatch(/x-smg-error-code: request_uri_too_long/i);
      expect(refused).toMatch(/x-request-id: /i);
      expect(refused).not.toContain('xxxx');
    });

    it('an inference route: the same, and the engine hears nothing', async () => {
      expect(statusOf(await raw(chatAt(sized(CHAT, MAX_TARGET))))).toBe(200);
      const before = engine.counters.received;
      const answer = await sendRaw(
        gateway.port,
        rawPost(sized(CHAT, MAX_TARGET + 1), BODY, [AUTH]) + SMUGGLED,
      );
      // The body is not read, so nothing behind it is.
      expect(statusesIn(answer.text)).toEqual([414]);
      expect(answer.end).not.toBe('open');
      expect(engine.counters.received).toBe(before);
    });

    it('it is counted under no path of the client, and logged shortened', async () => {
      const labels = { path: 'other', status_code: '414', error_code: 'request_uri_too_long' };
      const before = sample(await gateway.metrics(), 'smg_http_responses_total', labels);
      await raw(get(sized('/secret-path', 60_000)));
      const page = await gateway.metrics();
      expect(sample(page, 'smg_http_responses_total', labels)).toBe(before + 1);
      expect(page).not.toContain('secret-path');
      expect(Math.max(...gateway.rawLogs.map(({ length }) => length))).toBeLessThan(10_000);
    });

    it('a target larger than a whole head may be is 431', async () => {
      expect(statusOf(await raw(get(sized('/health', 70_000))))).toBe(431);
    });
  });

  describe('the number of headers', () => {
    // `get` and `chatAt` send some already.
    const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `X-${i}: y`);

    it('256 are served, 257 are 431', async () => {
      expect(statusOf(await raw(get('/health', ...lines(MAX_HEADERS - 2))))).toBe(200);
      expect(statusOf(await raw(get('/health', ...lines(MAX_HEADERS - 1))))).toBe(431);
      expect(statusOf(await raw(chatAt(CHAT, ...lines(MAX_HEADERS - 5))))).toBe(200);
      expect(statusOf(await raw(chatAt(CHAT, ...lines(MAX_HEADERS - 4))))).toBe(431);
    });

    it('10,000 short ones hide none, and nothing behind them is read', async () => {
      const many = Array.from({ length: 10_000 }, () => 'a:');
      const answer = await sendRaw(gateway.port, rawPost(CHAT, BODY, [...many, AUTH]) + SMUGGLED);
      expect(statusesIn(answer.text)).toEqual([431]);
      expect(answer.end).not.toBe('open');
    });

    it('[R29] a client that waits for 100 gets the 431', async () => {
      const answer = await raw(
        get('/workers', ...lines(300), 'Expect: 100-continue', 'Content-Length: 2'),
      );
      expect(statusesIn(answer)).toEqual([431]);
    });
  });

  describe('methods', () => {
    it.each(['BREW', 'get', 'GE\0T', 'GET,POST', 'G'.repeat(5_000), '', 'PRI'])(
      '%j is no method: 400, closed, nothing behind it is read',
      async (method) => {
        const bytes = `${method} /workers HTTP/1.1\r\nHost: g\r\n${AUTH}\r\n\r\n${SMUGGLED}`;
        const answer = await sendRaw(gateway.port, bytes);
        expect(statusesIn(answer.text)).toEqual([400]);
        expect(answer.end).not.toBe('open');
      },
    );

    it.each(['PROPFIND', 'TRACE', 'M-SEARCH', 'PURGE', 'SOURCE', 'LOCK', 'OPTIONS', 'PUT'])(
      '%s is a method of no route: 405 with Allow where there is one, else 404',
      async (method) => {
        for (const path of ['/workers', CHAT]) {
          const answer = await raw(get(path, AUTH).replace('GET', method));
          expect(statusOf(answer)).toBe(405);
          expect(answer).toMatch(/^allow: /im);
          // TRACE would show a page what its own request carried.
          expect(answer).not.toContain(KEY);
        }
        expect(statusOf(await raw(get('/nowhere', AUTH).replace('GET', method)))).toBe(404);
      },
    );
  });

  describe('targets', () => {
    it.each(['http://gateway', 'http://other:1', 'HTTPS://gateway:30000', 'http://u:p@gateway'])(
      'a path behind %s is that path, with its plane',
      async (authority) => {
        expect(statusOf(await raw(get(`${authority}/health`)))).toBe(200);
        expect(statusOf(await raw(get(`${authority}/workers`)))).toBe(401);
        expect(statusOf(await raw(get(`${authority}/workers`, AUTH)))).toBe(200);
        expect(statusOf(await raw(rawPost(`${authority}${CHAT}`, BODY)))).toBe(401);
        expect(statusOf(await raw(chatAt(`${authority}${CHAT}`)))).toBe(200);
        expect(statusOf(await raw(get(authority)))).toBe(404);
      },
    );

    it.each([
      ['OPTIONS *', 404],
      ['GET *', 404],
      ['GET ftp://gateway/workers', 404],
      ['GET //workers', 404],
      ['GET /./workers', 404],
      ['GET /health/../workers', 404],
      ['GET /%2e%2e/workers', 404],
      ['GET /workers%00', 404],
      ['GET /health%0d%0aX-Evil:%20y', 404],
      ['GET gateway:80', 400],
      ['GET workers', 400],
      ['GET \\workers', 400],
      ['GET ', 400],
    ])('%s without a key: %i', async (line, status) => {
      const answer = await raw(`${line} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`);
      expect(statusesIn(answer)).toEqual([status]);
      expect(answer).not.toMatch(/^x-evil/im);
    });

    it.each(['NUL \0', 'CR \r', 'tab \t', 'DEL \x7f', '8 bit \xff', 'space  x', 'LF \n'])(
      '[R22] %j in a target: 400, closed, nothing behind it is read',
      async (text) => {
        const bytes = `GET /health/${text.slice(-2)} HTTP/1.1\r\nHost: g\r\n\r\n${SMUGGLED}`;
        const answer = await sendRaw(gateway.port, bytes);
        expect(statusesIn(answer.text)).toEqual([400]);
        expect(answer.end).not.toBe('open');
      },
    );
  });

  it.each(['a b', 'g, h', 'g/x', 'u@g', 'g?x', 'g#x', 'g\\x'])(
    'Host: %s is no host: 400, closed',
    async (host) => {
      const answer = await sendRaw(
        gateway.port,
        `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n${SMUGGLED}`,
      );
      expect(statusesIn(answer.text)).toEqual([400]);
      expect(answer.end).not.toBe('open');
    },
  );

  it.each(['', 'g', 'g:30000', '127.0.0.1', '[::1]:30000', 'G_x.example.'])(
    'Host: %s is one',
    async (host) => {
      const bytes = get('/health').replace('Host: g', `Host: ${host}`);
      expect(statusOf(await raw(bytes))).toBe(200);
    },
  );

  describe('other protocols on the port', () => {
    it.each([
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
      ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
      ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['noise', Array.from({ length: 4096 }, (_, i) => String.fromCharCode(i % 256)).join('')],
    ])('%s: 400 and closed', async (_, bytes) => {
      const answer = await sendRaw(gateway.port, bytes);
      expect(statusOf(answer.text)).toBe(400);
      expect(answer.end).not.toBe('open');
    });

    it('RTSP, which the parser knows, finds no route and is closed', async () => {
      const answer = await sendRaw(
        gateway.port,
        `OPTIONS rtsp://g/workers RTSP/1.0\r\n${AUTH}\r\n\r\n`,
      );
      expect(statusOf(answer.text)).toBe(404);
      expect(answer.end).not.toBe('open');
    });

    it.each([
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ])('an upgrade is not taken up, and opens nothing: %j', async (upgrade) => {
      const head = `GET /workers HTTP/1.1\r\nHost: g\r\n${upgrade}\r\n`;
      expect(statusOf(await raw(`${head}Connection: close\r\n\r\n`))).toBe(401);
      const body = chatAt(CHAT).replace('Host', `${upgrade}\r\nHost`);
      expect(statusOf(await raw(body))).toBe(200);
    });
  });

  describe('garbage behind a sound request', () => {
    const GARBAGE = '\0\0garbage\r\n\r\n';

    it.each([
      ['a probe', `GET /health HTTP/1.1\r\nHost: g\r\n\r\n`, [200]],
      ['the control plane', `GET /workers HTTP/1.1\r\nHost: g\r\n${AUTH}\r\n\r\n`, [200]],
      ['a chat', rawPost(CHAT, BODY, [AUTH]), [200]],
      ['two chats', rawPost(CHAT, BODY, [AUTH]).repeat(2), [200, 200]],
      ['a refusal', rawPost(CHAT, BODY), [401]],
    ])('%s: what was asked is answered, then the connection ends', async (_, sound, statuses) => {
      const answer = await sendRaw(gateway.port, sound + GARBAGE + SMUGGLED);
      expect(statusesIn(answer.text).slice(0, statuses.length)).toEqual(statuses);
      expect(statusesIn(answer.text).slice(statuses.length)).toEqual([]);
      expect(answer.end).not.toBe('open');
    });

    it('an answer that takes its time is whole', async () => {
      engine.behave({ route: CHAT, delayMs: 300, body: { ok: 'x'.repeat(100_000) } });
      const bytes = rawPost(CHAT, BODY, [AUTH]) + GARBAGE;
      const answer = await sendRaw(gateway.port, bytes);
      expect(statusesIn(answer.text)).toEqual([200]);
      expect(answer.text).toContain(`${'x'.repeat(100_000)}"}`);
      expect(answer.end).toBe('fin');
    });

    it('a stream whose head was sent is whole', async () => {
      engine.behave({
        route: CHAT,
        headers: { 'content-type': 'text/event-stream' },
        delayBodyMs: 300,
        chunks: ['data: {}\n\n', 'data: [DONE]\n\n'],
      });
      const body = JSON.stringify(chat({ stream: true }));
      const answer = await sendRaw(gateway.port, rawPost(CHAT, body, [AUTH]) + GARBAGE);
      expect(statusesIn(answer.text)).toEqual([200]);
      expect(answer.text).toContain('data: [DONE]');
      expect(answer.text).toMatch(/0\r\n\r\n$/);
      expect(answer.end).toBe('fin');
    });
  });

  it('[R69] odd credentials on the control plane are 401 or 431, never 5xx', async () => {
    const odd = [
      'Bearer',
      'Bearer ',
      'Bearer  x',
      'bearer x',
      'Basic x',
      'Bearer a.b',
      'Bearer a.b.c',
      'Bearer a.b.c.d',
      'Bearer .....',
      'Bearer \xe4\xff',
      `Bearer ${'x'.repeat(60_000)}`,
      `Bearer ${'x'.repeat(66_000)}`,
      `Bearer ${'a.'.repeat(20_000)}`,
    ];
    for (const value of odd) {
      const status = statusOf(await raw(get('/workers', `Authorization: ${value}`)));
      expect(status).toBe(value.length > 65_000 ? 431 : 401);
    }
  });

  it('answers of the gateway tell nothing about what it is made of', async () => {
    const answers = await Promise.all(
      [
        get('/health'),
        get('/workers'),
        get('/workers', AUTH),
        get('/nowhere'),
        get('/%zz'),
        get('/v1/models'),
        get(`/health?${'x'.repeat(MAX_TARGET)}`),
        get('/health', 'Content-Length: x'),
        rawPost(CHAT, BODY),
        rawPost(CHAT, '{', [AUTH]),
        rawPost('/workers', '{', [AUTH]),
        rawPost('/workers', '[]', [AUTH]),
        'garbage\r\n\r\n',
      ].map((bytes) => sendRaw(gateway.port, bytes, { untilText: '\r\n\r\n' })),
    );
    for (const { text } of answers) {
      expect(statusOf(text)).toBeGreaterThan(0);
      expect(text).not.toMatch(/^(server|x-powered-by|via):/im);
      expect(text).not.toMatch(/fastify|nest|node_modules|\.js:\d|at [A-Z]\w+\./i);
    }
  });
});
