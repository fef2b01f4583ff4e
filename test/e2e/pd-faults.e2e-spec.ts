import { type Behaviour } from '@smg/testing';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { chat, DONE } from './support/bodies';
import { describeLanes } from './support/lanes';
import { type Pairs, startPairs } from './support/pairs';

const CHAT = '/v1/chat/completions';
const JSON_HEAD = { 'content-type': 'application/json' };

/** What a leg does, and what must not come out of it. */
const FAULTS: readonly [name: string, behaviour: Behaviour][] = [
  ['closes at once', { cut: { how: 'fin', at: 'accept' } }],
  ['resets before it reads', { cut: { how: 'reset', at: 'request-head' } }],
  ['resets before it answers', { cut: { how: 'reset', at: 'request' } }],
  ['hangs', { cut: { how: 'hang', at: 'request' } }],
  ['dies after its head', { cut: { how: 'reset', at: 'head' } }],
  ['hangs after its head', { cut: { how: 'hang', at: 'head' } }],
  ['answers garbage', { rawHead: 'SMTP ready\r\n\r\n' }],
  ['refuses with 400', { status: 400, body: { error: { message: 'no' } } }],
  ['refuses with 429', { status: 429, body: 'busy' }],
  ['refuses with 503', { status: 503, body: { message: 'later' } }],
  [
    'breaks off inside its refusal',
    { status: 500, body: 'x'.repeat(100), cut: { how: 'reset', at: 10 } },
  ],
];

/** Only decode's body reaches the client. */
const DECODE_FAULTS: typeof FAULTS = [
  ['is cut inside its body', { cut: { how: 'reset', at: 40 } }],
  ['is cut politely inside its body', { cut: { how: 'fin', at: 40 } }],
  ['hangs inside its body', { cut: { how: 'hang', at: 40 } }],
  [
    'ends its connection inside JSON',
    { headers: JSON_HEAD, chunks: ['{"choices":[{"te'], framing: 'close' },
  ],
];

const CASES = (['sglang', 'vllm'] as const).flatMap((kind) =>
  (['prefill', 'decode'] as const).flatMap((leg) =>
    [...FAULTS, ...(leg === 'decode' ? DECODE_FAULTS : [])].flatMap(([name, behaviour]) =>
      [false, true].map((stream) => ({ kind, leg, name, behaviour, stream })),
    ),
  ),
);

describeLanes('a leg of a pair fails', ({ hotLane }) => {
  const fleets = new Map<string, Pairs>();
  const fleet = (kind: string): Pairs => {
    const found = fleets.get(kind);
    if (found === undefined) throw new Error(kind);
    return found;
  };
  beforeAll(async () => {
    for (const kind of ['sglang', 'vllm'] as const) {
      const options = [{ kind, tokens: 6 }];
      fleets.set(
        kind,
        await startPairs(
          { requests: { hotLane, timeoutSecs: 1 }, breaker: { disabled: true } },
          { prefill: options, decode: options },
        ),
      );
    }
  });
  afterAll(async () => {
    for (const pairs of fleets.values()) await pairs.stop();
  });

  it.each(CASES)(
    '$kind: $leg $name (stream: $stream)',
    async ({ kind, leg, behaviour, stream }) => {
      const pairs = fleet(kind);
      const engine = pairs[leg][0]!;
      const scripted = behaviour.cut?.at === 'accept' ? behaviour : { ...behaviour, route: CHAT };
      if (behaviour.cut?.at === 'accept') engine.dropConnections();
      engine.behave(scripted);
      const started = performance.now();
      const got = await send(pairs.url + CHAT, { body: chat({ stream }) }).catch(() => undefined);
      expect(performance.now() - started).toBeLessThan(4000);
      engine.behaveNormally();
      const isWhole = got !== undefined && !got.aborted && got.status < 300;
      const ended = got?.text.includes(DONE.trim()) === true;
      // After decode has begun, prefill has done its part: what becomes of its answer is nobody's concern.
      const isSpent = leg === 'prefill' && kind === 'sglang' && behaviour.cut?.at === 'head';
      if (!isSpent) expect({ isWhole, ended }).toEqual({ isWhole: false, ended: false });
      if (got !== undefined && got.status >= 400) {
        expect(got.headers['x-smg-routed-worker-id']).toBe(pairs.decode[0]?.url);
      }
      await pairs.untilIdle();
    },
  );

  it('slow legs are only slow', async () => {
    for (const kind of ['sglang', 'vllm']) {
      const pairs = fleet(kind);
      for (const leg of ['prefill', 'decode'] as const) {
        pairs[leg][0]?.behave({ route: CHAT, times: 1, delayMs: 300 });
        const got = await send(pairs.url + CHAT, { body: chat({ stream: true }) });
        expect([got.status, got.text.endsWith(DONE), got.aborted]).toEqual([200, true, false]);
      }
      await pairs.untilIdle();
    }
  });

  it.each([
    ['before either answers', 'prefill', { cut: { how: 'hang', at: 'request' } }],
    ['while decode thinks', 'decode', { cut: { how: 'hang', at: 'request' } }],
    ['while decode streams', 'decode', { cut: { how: 'hang', at: 60 } }],
    ['while prefill still talks', 'prefill', { chunks: ['{', { data: '}', delayMs: 9000 }] }],
  ] as const)('the client leaves %s: both engines are released', async (_when, leg, behaviour) => {
    for (const kind of ['sglang', 'vllm']) {
      const pairs = fleet(kind);
      pairs[leg][0]?.behave({ ...behaviour, route: CHAT });
      const before = pairs[leg][0]?.requestsTo(CHAT).length ?? 0;
      const leave = new Promise<void>((resolve) => {
        void open(pairs.url + CHAT, { body: chat({ stream: true }) }).then(
          (stream) => {
            setTimeout(() => {
              stream.leave();
              resolve();
            }, 50);
          },
          () => {
            resolve();
          },
        );
        setTimeout(resolve, 400);
      });
      await until('it is there', () => (pairs[leg][0]?.requestsTo(CHAT).length ?? 0) > before);
      await leave;
      for (const engine of pairs.engines) engine.behaveNormally();
      await pairs.untilIdle();
    }
  });
});
