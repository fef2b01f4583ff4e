import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer, type Sending } from '../support/http';
import { workersOf } from '../support/workers';
import { chat, chatStream, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sendRaw, rawPost } from './support/raw-client';
import { generateAt, startAll, startRl, type RlGateway } from './support/rl';

/** A head as on the wire, without what differs from answer to answer: date, ids, ports. */
const headOf = (text: string): string =>
  text
    .slice(0, text.indexOf('\r\n\r\n'))
    .replace(/^(date|x-request-id): .*$/gim, '$1: *')
    .replace(/127\.0\.0\.1:\d+/g, 'host:port');

const REQUESTS: readonly (readonly [string, string])[] = [
  ['generate', rawPost('/generate', JSON.stringify(generate()))],
  ['a stream', rawPost('/generate', JSON.stringify(generate({ stream: true })))],
  ['chat', rawPost('/v1/chat/completions', JSON.stringify(chat()))],
  ['a chat stream', rawPost('/v1/chat/completions', JSON.stringify(chatStream()))],
  ['an error of the engine', rawPost('/generate', '{"text":"x","sampling_params":7}')],
  ['a broken body', rawPost('/v1/chat/completions', '{')],
  ['an unknown path', rawPost('/v1/none', '{}')],
  ['the workers', 'GET /workers HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['health', 'GET /health HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['a wrong method', 'DELETE /generate HTTP/1.1\r\nHost: g\r\n\r\n'],
];

describeLanes('heads with RL and without', ({ hotLane }) => {
  const engine = new MockEngine({ tokens: 2 });
  let off: RunningGateway;
  let on: RlGateway;
  beforeAll(async () => {
    await engine.start();
    off = await startGateway(
      { requests: { hotLane }, routing: { policy: 'round_robin' }, retry: { maxAttempts: 1 } },
      { engines: [engine] },
    );
    on = await startRl({ requests: { hotLane } }, { engines: [engine] });
  });
  afterAll(async () => {
    await off.close();
    await on.close();
    await engine.stop();
  });
  const raw = async ({ port }: RunningGateway, bytes: string): Promise<string> => {
    const closing = bytes.replace('\r\n', '\r\nConnection: close\r\n');
    return headOf((await sendRaw(port, closing)).text);
  };
  const RL_HEADER = /^x-smg-(weight|mixed)-version.*\r\n/gim;

  it.each(REQUESTS)(
    '[RL3] %s: off is off to the byte, and on adds its stamp alone',
    async (_, bytes) => {
      const plain = await raw(off, bytes);
      expect(plain).toMatch(/^HTTP\/1\.1 \d{3} /);
      expect(plain).not.toMatch(RL_HEADER);
      const bogus = bytes.replace('\r\n', '\r\nX-Smg-Version-Policy: nonsense\r\n');
      expect(await raw(off, bogus)).toBe(plain);
      const stamped = await raw(on, bytes);
      // Lengths of bodies that list versions or ports apart, RL is one header more at most.
      const withoutLength = (head: string): string => head.replace(/^content-length: .*$/gim, '');
      expect(withoutLength(`${stamped}\r\n`.replace(RL_HEADER, ''))).toBe(
        withoutLength(`${plain}\r\n`),
      );
    },
  );

  it('[RL93] the same heads once versioned, but for one header', async () => {
    const before = await raw(on, REQUESTS[0]?.[1] ?? '');
    await on.rl.setVersion(engine, '5');
    engine.weightVersion = '5';
    const after = await raw(on, REQUESTS[0]?.[1] ?? '');
    const lines = (head: string): string[] =>
      head.split('\r\n').filter((line) => !/^content-length/i.test(line));
    expect(lines(after).filter((line) => !lines(before).includes(line))).toEqual([
      'x-smg-weight-version: 5',
    ]);
  });
});

describeLanes('stamps of answers of every shape', ({ hotLane }) => {
  let e1: MockEngine;
  let e2: MockEngine;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeEach(async () => {
    e1 = new MockEngine({ tokens: 2, weightVersion: '1' });
    e2 = new MockEngine({ tokens: 2, weightVersion: '2' });
    stop = await startAll(e1, e2);
    gateway = await startRl(
      {
        requests: { hotLane, maxPayloadSize: 64 * 1024 * 1024 },
        retry: { maxAttempts: 3, initialBackoffMs: 1 },
      },
      { engines: [e1, e2] },
    );
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
  });
  const ask = (path: string, sending: Sending): Promise<Answer> =>
    send(gateway.url + path, sending);
  const stamps = ({ headers }: Answer): unknown => [
    headers['x-smg-routed-worker-id'],
    headers['x-smg-weight-version'],
    headers['x-smg-weight-version-start'],
    headers['x-smg-mixed-version'],
  ];

  it.each([
    ['503', { status: 503 }],
    ['no answer', { cut: { how: 'reset', at: 'request' } as const }],
  ])('after %s, the stamp is that of the engine that answered', async (_, behaviour) => {
    e1.behave({ route: '/generate', ...behaviour });
    for (let i = 0; i < 6; i += 1) {
      expect(stamps(await generateAt(gateway))).toEqual([e2.url, '2', undefined, undefined]);
    }
    expect(e1.counters.of('/generate')).toBeGreaterThan(0);
  });

  it.each([
    ['with a length', 'length'],
    ['in chunks', 'chunked'],
    ['until the connection closes', 'close'],
  ] as const)(
    '[RL94] two spans in 3 MiB of log probabilities, %s: flagged, and every byte there',
    async (_, framing) => {
      await gateway.rl.setControl(e2, 'paused');
      const body = JSON.stringify({
        text: '汉',
        output_token_logprobs: Array.from({ length: 200_000 }, (_value, at) => [-0.25, at]),
        meta_info: { weight_versions: [{ version: '0' }, { version: '1' }], weight_version: '1' },
      });
      const headers = { 'content-type': 'application/json' };
      const chunks = Array.from({ length: Math.ceil(body.length / 100_000) }, (_value, at) =>
        Buffer.from(body.slice(at * 100_000, (at + 1) * 100_000)),
      );
      const whole = framing === 'length' ? { body } : { chunks, framing };
      e1.behave({ route: '/generate', headers, ...whole });
      const got = await generateAt(gateway);
      expect(stamps(got)).toEqual([e1.url, '1', undefined, 'true']);
      expect(got.text === body).toBe(true);
    },
  );

  it('[RL94] one prompt of a batch that spans two versions flags the answer', async () => {
    await gateway.rl.setControl(e2, 'paused');
    const slow = new MockEngine({ tokens: 10, tokenLatencyMs: 20, weightVersion: '7' });
    await slow.start();
    await workersOf(gateway.url).added({ url: slow.url });
    await gateway.rl.setControl(e1, 'paused');
    const asked = ask('/generate', { body: { text: ['a', 'b', 'c'] } });
    await slow.waitUntil(() => [...slow.state.running].some(({ tokens }) => tokens.length > 2));
    await gateway.rl.call(slow, 'update_weights_from_disk', { body: { weight_version: '8' } });
    const got = await asked;
    expect(JSON.parse(got.text)).toHaveLength(3);
    expect(stamps(got)).toEqual([slow.url, '8', '7', 'true']);
    await slow.stop();
  });

  it('an engine that is removed while it works: its answer is stamped all the same', async () => {
    await gateway.rl.setControl(e2, 'paused');
    e1.behave({ route: '/generate', delayMs: 300, times: 1 });
    const asked = generateAt(gateway);
    await e1.waitUntil(() => e1.counters.of('/generate') === 1);
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(e1.url)).id);
    const got = await asked;
    expect([got.status, ...(stamps(got) as unknown[])]).toEqual([
      200,
      e1.url,
      '1',
      undefined,
      undefined,
    ]);
  });

  it('a client cannot stamp: its own headers change nothing and reach no engine', async () => {
    await gateway.rl.setControl(e2, 'paused');
    const forged = {
      'x-smg-weight-version': '99',
      'x-smg-mixed-version': 'true',
      'x-smg-routed-worker-id': 'http://elsewhere',
      connection: 'x-smg-weight-version, x-smg-routed-worker-id',
    };
    expect(stamps(await generateAt(gateway, forged))).toEqual([e1.url, '1', undefined, undefined]);
    const sent = e1.requestsTo('/generate').at(-1)?.headers.join('\n').toLowerCase();
    expect(sent).not.toContain('x-smg-');
  });
});
