import { MockEngine } from '@smg/testing';
import { connect } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { chat, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { answersIn, rawPost, sendRaw, statusesIn, statusOf } from './support/raw-client';

const CHAT = '/v1/chat/completions';
const KEY = 'serving-key-1';
/** Bytes; larger declared bodies are refused. */
const LIMIT = 64 * 1024;

/** A control call an attacker hides behind an ambiguous message. */
const SMUGGLED = rawPost('/workers', '{"url":"http://127.0.0.1:9"}', [
  `Authorization: Bearer ${KEY}`,
]);

const post = (headers: readonly string[], body: string) =>
  [`POST ${CHAT} HTTP/1.1`, 'Content-Type: application/json', ...headers, '', body].join('\r\n');

/** Messages two readers could frame differently, each followed by a smuggled one. */
const AMBIGUOUS: readonly (readonly [string, string])[] = [
  [
    'Transfer-Encoding beside Content-Length',
    post(
      ['Host: g', `Content-Length: ${SMUGGLED.length + 5}`, 'Transfer-Encoding: chunked'],
      `0\r\n\r\n${SMUGGLED}`,
    ),
  ],
  [
    'Content-Length beside Transfer-Encoding, the other order',
    post(['Host: g', 'Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'two different Content-Lengths',
    post(['Host: g', 'Content-Length: 0', `Content-Length: ${SMUGGLED.length}`], SMUGGLED),
  ],
  [
    'two equal Content-Lengths',
    post(['Host: g', 'Content-Length: 2', 'content-length: 2'], `{}${SMUGGLED}`),
  ],
  ['a list in Content-Length', post(['Host: g', 'Content-Length: 2, 2'], `{}${SMUGGLED}`)],
  ['a signed Content-Length', post(['Host: g', 'Content-Length: +2'], `{}${SMUGGLED}`)],
  ['a negative Content-Length', post(['Host: g', 'Content-Length: -1'], SMUGGLED)],
  ['a hexadecimal Content-Length', post(['Host: g', 'Content-Length: 0x2'], `{}${SMUGGLED}`)],
  [
    'an overflowing Content-Length',
    post(['Host: g', 'Content-Length: 18446744073709551618'], `{}${SMUGGLED}`),
  ],
  ['two Hosts', post(['Host: g', 'Host: h', 'Content-Length: 2'], `{}${SMUGGLED}`)],
  [
    'two Authorizations',
    post(
      ['Host: g', 'Authorization: Bearer a', 'Authorization: Bearer b', 'Content-Length: 2'],
      `{}${SMUGGLED}`,
    ),
  ],
  ['no Host', post(['Content-Length: 2'], `{}${SMUGGLED}`)],
  [
    'Transfer-Encoding: gzip, chunked',
    post(['Host: g', 'Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'Transfer-Encoding: chunked, identity',
    post(['Host: g', 'Transfer-Encoding: chunked, identity'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'Transfer-Encoding: xchunked',
    post(['Host: g', 'Transfer-Encoding: xchunked'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'two Transfer-Encodings',
    post(
      ['Host: g', 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      `0\r\n\r\n${SMUGGLED}`,
    ),
  ],
  [
    'a space before the colon',
    post(['Host: g', 'Transfer-Encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'a folded header',
    post(
      ['Host: g', 'X-A: b', ' Transfer-Encoding: chunked', 'Content-Length: 2'],
      `{}${SMUGGLED}`,
    ),
  ],
  [
    'a bare LF between headers',
    `POST ${CHAT} HTTP/1.1\r\nHost: g\nContent-Length: 2\r\n\r\n{}${SMUGGLED}`,
  ],
  ['bare LFs only', `POST ${CHAT} HTTP/1.1\nHost: g\nContent-Length: 2\n\n{}${SMUGGLED}`],
  ['a bare CR in a value', post(['Host: g', 'X-A: b\rc', 'Content-Length: 2'], `{}${SMUGGLED}`)],
  ['NUL in a value', post(['Host: g', 'X-A: b\0c', 'Content-Length: 2'], `{}${SMUGGLED}`)],
  ['NUL in a name', post(['Host: g', 'X\0A: b', 'Content-Length: 2'], `{}${SMUGGLED}`)],
  [
    'chunks in HTTP/1.0',
    post(['Host: g', 'Transfer-Encoding: chunked'], `2\r\n{}\r\n0\r\n\r\n${SMUGGLED}`).replace(
      'HTTP/1.1',
      'HTTP/1.0',
    ),
  ],
  [
    'HTTP/2.0 in the request line',
    post(['Host: g', 'Content-Length: 2'], `{}${SMUGGLED}`).replace('HTTP/1.1', 'HTTP/2.0'),
  ],
  [
    'no version in the request line',
    post(['Host: g', 'Content-Length: 2'], `{}${SMUGGLED}`).replace(' HTTP/1.1', ''),
  ],
  [
    'a chunk size that is no number',
    post(['Host: g', 'Transfer-Encoding: chunked'], `zz\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'a chunk longer than its size',
    post(['Host: g', 'Transfer-Encoding: chunked'], `1\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'bare LF after a chunk size',
    post(['Host: g', 'Transfer-Encoding: chunked'], `2\n{}\r\n0\r\n\r\n${SMUGGLED}`),
  ],
];

describeLanes('framing of requests', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane, maxPayloadSize: LIMIT },
        health: { checksDisabled: true },
        auth: { apiKey: KEY },
      },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const auth = { authorization: `Bearer ${KEY}` };
  const workerCount = async () =>
    (await send(`${gateway.url}/workers`, { headers: auth })).json['total'] as number;

  it.each(AMBIGUOUS)(
    '[R22] [framing] %s: 400, closed, nothing behind it is read',
    async (_what, bytes) => {
      const received = engine.counters.received;
      const authorised = bytes.replace(
        'Content-Type',
        `Authorization: Bearer ${KEY}\r\nContent-Type`,
      );
      for (const message of [bytes, authorised]) {
        const answer = await sendRaw(gateway.port, message);
        expect(answer.end).not.toBe('open');
        // A missing credential may be answered before the body turns out to be malformed.
        const statuses = statusesIn(answer.text);
        expect([[400], [401], [401, 400]]).toContainEqual(statuses);
      }
      // Credentials come after framing: with them the answer is still that of the framing.
      expect(statusOf((await sendRaw(gateway.port, authorised)).text)).toBe(400);
      expect(engine.counters.received).toBe(received);
      expect(await workerCount()).toBe(1);
    },
  );

  it('[R22] the same messages on a control route: 400, nothing reaches the table of workers', async () => {
    for (const [, bytes] of AMBIGUOUS) {
      const message = bytes
        .replace(`POST ${CHAT}`, 'POST /workers')
        .replace('Content-Type', `Authorization: Bearer ${KEY}\r\nContent-Type`);
      const answer = await sendRaw(gateway.port, message);
      expect(answer.end).not.toBe('open');
      expect(answersIn(answer.text)).toBe(1);
      expect(statusOf(answer.text)).toBe(400);
    }
    expect(await workerCount()).toBe(1);
  });

  it('CONNECT: 405, closed', async () => {
    const answer = await sendRaw(gateway.port, 'CONNECT g:80 HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(statusOf(answer.text)).toBe(405);
    expect(answer.end).not.toBe('open');
  });

  it('[framing] a refused message leaves the next request of the same connection unread', async () => {
    // Refused for its size: the unread body must not be parsed as a request.
    const body = SMUGGLED.padEnd(LIMIT + 1, 'x');
    const answer = await sendRaw(
      gateway.port,
      rawPost(CHAT, body, [`Authorization: Bearer ${KEY}`]) + SMUGGLED,
    );
    expect(statusOf(answer.text)).toBe(413);
    expect(answersIn(answer.text)).toBe(1);
    expect(answer.end).not.toBe('open');
    expect(await workerCount()).toBe(1);
  });

  it('[#72] a chunked request of 60 kB reaches the engine with exactly one framing header', async () => {
    const body = JSON.stringify(generate({ text: 'x'.repeat(60_000) }));
    const chunks = body.match(/.{1,7000}/g) ?? [];
    const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    const message = `POST /generate HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${framed}0\r\n\r\n`;
    const answer = await sendRaw(gateway.port, message);
    expect(statusOf(answer.text)).toBe(200);
    const seen = engine.requestsTo('/generate').at(-1);
    expect(seen?.values('content-length')).toEqual([String(body.length)]);
    expect(seen?.values('transfer-encoding')).toEqual([]);
    expect(seen?.values('host')).toHaveLength(1);
    expect(seen?.body.toString()).toBe(body);
  });

  it('[#72] trailers of a chunked request do not travel on', async () => {
    const body = JSON.stringify(generate());
    const message = `POST /generate HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Smg-Routing-Key\r\nConnection: close\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nx-smg-routing-key: forged\r\n\r\n`;
    const answer = await sendRaw(gateway.port, message);
    expect(statusOf(answer.text)).toBe(200);
    const seen = engine.requestsTo('/generate').at(-1);
    expect(seen?.values('x-smg-routing-key')).toEqual([]);
    expect(seen?.values('trailer')).toEqual([]);
  });

  describe('[R29] Expect: 100-continue', () => {
    const expecting = (length: number, headers: readonly string[]) =>
      [
        `POST ${CHAT} HTTP/1.1`,
        'Host: g',
        'Content-Type: application/json',
        `Content-Length: ${length}`,
        'Expect: 100-continue',
        'Connection: close',
        ...headers,
        '',
        '',
      ].join('\r\n');

    it('a wanted body is asked for, and the header goes no further', async () => {
      const body = JSON.stringify(chat());
      const text = await new Promise<string>((resolve, reject) => {
        let got = '';
        const socket = connect(gateway.port, '127.0.0.1');
        const timer = setTimeout(() => {
          socket.destroy();
          reject(new Error(`no answer, only: ${got}`));
        }, 3_000);
        socket.on('error', reject);
        socket.on('data', (data) => {
          got += data.toString('latin1');
          if (got === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body);
        });
        socket.on('close', () => {
          clearTimeout(timer);
          resolve(got);
        });
        socket.write(expecting(body.length, [`Authorization: Bearer ${KEY}`]));
      });
      expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
      const seen = engine.requestsTo(CHAT).at(-1);
      expect(seen?.values('expect')).toEqual([]);
      expect(seen?.body.toString()).toBe(body);
    });

    it.each([
      ['without a key', 401, 100, []],
      ['with a body over the limit', 413, LIMIT + 1, [`Authorization: Bearer ${KEY}`]],
    ])('%s there is no 100, but the refusal', async (_what, status, length, headers) => {
      const answer = await sendRaw(gateway.port, expecting(length, headers));
      expect(answer.text).not.toContain('100 Continue');
      expect(statusOf(answer.text)).toBe(status);
      expect(answer.end).not.toBe('open');
    });

    it.each([
      ['a control route without a key', '/workers', [], 401],
      ['an unknown path', '/nowhere', [], 404],
      ['a route of another method', '/v1/models', [], 405],
      ['a control body over the limit', '/workers', [`Authorization: Bearer ${KEY}`], 413],
    ])(
      '%s is refused without a 100, and the connection closes',
      async (_what, path, headers, status) => {
        const message = expecting(64 * 1024 * 1024, headers).replace(CHAT, path);
        const answer = await sendRaw(gateway.port, message.replace('Connection: close\r\n', ''));
        expect(answer.text).not.toContain('100 Continue');
        expect(statusOf(answer.text)).toBe(status);
        expect(answer.end).not.toBe('open');
      },
    );

    it('a control body that is wanted is asked for', async () => {
      const answer = await sendRaw(
        gateway.port,
        `${expecting(2, [`Authorization: Bearer ${KEY}`]).replace(CHAT, '/workers')}{}`,
      );
      expect(statusesIn(answer.text)).toEqual([100, 422]);
    });

    it('an expectation nobody knows is 417', async () => {
      const answer = await sendRaw(
        gateway.port,
        expecting(2, [`Authorization: Bearer ${KEY}`]).replace('100-continue', 'a-miracle'),
      );
      expect(statusOf(answer.text)).toBe(417);
    });
  });

  it('[slow clients] a head larger than 64 KiB is 431', async () => {
    const answer = await sendRaw(
      gateway.port,
      post(['Host: g', `X-Long: ${'x'.repeat(70_000)}`, 'Content-Length: 2'], '{}'),
    );
    expect(statusOf(answer.text)).toBe(431);
  });
});
