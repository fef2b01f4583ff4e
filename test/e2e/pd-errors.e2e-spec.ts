import { type MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { chat, generate, MODEL } from './support/bodies';
import { describeLanes } from './support/lanes';
import { type Pairs, startPairs } from './support/pairs';
import { RlClient } from './support/rl';

describeLanes('[6.1] what a pair says when a leg refuses', ({ hotLane }) => {
  let pairs: Pairs;
  beforeAll(async () => {
    pairs = await startPairs({ requests: { hotLane }, rl: { enabled: true } });
  });
  afterAll(() => pairs.stop());
  afterEach(async () => {
    for (const engine of pairs.engines) engine.behaveNormally();
    await pairs.untilIdle();
  });

  it.each([
    ['prefill', 400, 400, 'prefill_bad_request', 'Prefill server error (400): why'],
    ['prefill', 404, 404, 'prefill_not_found', 'Prefill server error (404): why'],
    ['prefill', 502, 502, 'prefill_bad_gateway', 'Prefill server error (502): why'],
    ['prefill', 418, 500, 'prefill_error', 'Prefill server error (418): why'],
    ['decode', 400, 400, 'decode_bad_request', 'why'],
    ['decode', 503, 503, 'decode_unavailable', 'why'],
    ['decode', 429, 500, 'decode_error', 'why'],
  ] as const)('%s %i: %i %s', async (leg, engineStatus, status, code, message) => {
    pairs[leg][0]?.behave({ route: '/generate', status: engineStatus, body: 'why' });
    const got = await send(`${pairs.url}/generate`, { body: generate() });
    expect(got.status).toBe(status);
    expect(got.json['error']).toMatchObject({ code, message });
    expect(got.headers['x-smg-error-code']).toBe(code);
    expect(got.headers['x-smg-routed-worker-id']).toBe(pairs.decode[0]?.url);
  });

  it('a stream that decode refuses is one event under its status, and no end', async () => {
    pairs.decode[0]?.behave({
      route: '/generate',
      status: 429,
      body: { error: { message: 'busy' } },
    });
    const got = await send(`${pairs.url}/generate`, { body: generate({ stream: true }) });
    expect(got.status).toBe(429);
    expect(got.headers['content-type']).toBe('text/event-stream');
    expect(got.text).toBe('data: {"error":{"message":"busy","status":429}}\n\n');
    expect(got.headers['x-smg-routed-worker-id']).toBe(pairs.decode[0]?.url);
  });

  it("[RL 92] a paused leg: 503, and the version of an answer is decode's", async () => {
    const [prefill, decode] = pairs.engines;
    const rl = new RlClient(pairs.url);
    const control = async (
      engine: MockEngine | undefined,
      call: string,
      body: object,
    ): Promise<void> => {
      const got = await rl.call(engine ?? { url: '' }, call, { body });
      expect([call, got.status]).toEqual([call, 200]);
    };
    for (const engine of [prefill, decode]) {
      await control(engine, 'pause_generation', {});
      const got = await send(`${pairs.url}/v1/chat/completions`, { body: chat() });
      expect([got.status, got.json['error'].code]).toEqual([503, 'no_available_workers']);
      await control(engine, 'continue_generation', {});
    }
    await control(prefill, 'update_weight_version', { new_version: '7' });
    await control(decode, 'update_weight_version', { new_version: '8' });
    const got = await send(`${pairs.url}/v1/chat/completions`, { body: chat({ model: MODEL }) });
    expect([got.status, got.headers['x-smg-weight-version']]).toEqual([200, '8']);
  });
});

describeLanes('[5.7] further attempts at a pair', ({ hotLane }) => {
  it('choose both legs anew and avoid who just failed', async () => {
    const pairs = await startPairs(
      {
        requests: { hotLane },
        routing: { policy: 'round_robin' },
        retry: { disabled: false, maxAttempts: 2 },
        breaker: { disabled: true },
      },
      { prefill: [{}, {}], decode: [{}, {}] },
    );
    try {
      for (const leg of ['prefill', 'decode'] as const) {
        pairs[leg][1]?.behave({ route: '/generate', cut: { how: 'reset', at: 'request' } });
        for (let i = 0; i < 6; i += 1) {
          const got = await send(`${pairs.url}/generate`, { body: generate() });
          expect(got.status).toBe(200);
        }
        pairs[leg][1]?.behaveNormally();
      }
      await pairs.untilIdle();
      expect(await pairs.metrics()).toMatch(/smg_worker_retries_total\{worker_type="decode"/);
    } finally {
      await pairs.stop();
    }
  });
});

describeLanes('[4.4.11] data-parallel ranks of a pair', ({ hotLane }) => {
  it('tells either leg its rank, and decode that of prefill', async () => {
    const pairs = await startPairs(
      { requests: { hotLane }, workers: { dpAware: true }, routing: { policy: 'round_robin' } },
      { prefill: [{ dpSize: 2 }], decode: [{ dpSize: 2 }], ready: 4 },
    );
    try {
      const got = await send(`${pairs.url}/generate`, {
        body: '{"text":"x","seed":9007199254740993}',
      });
      const sent = (leg: 'prefill' | 'decode') =>
        pairs[leg][0]?.requestsTo('/generate').at(-1)?.jsonObject();
      const rank = sent('prefill')?.['routed_dp_rank'];
      expect([0, 1]).toContain(rank);
      expect(sent('prefill')).not.toHaveProperty('disagg_prefill_dp_rank');
      expect(sent('decode')?.['disagg_prefill_dp_rank']).toBe(rank);
      const own = sent('decode')?.['routed_dp_rank'] as number;
      expect(got.headers['x-smg-routed-worker-id']).toBe(`${pairs.decode[0]?.url}@${own}`);
      await pairs.untilIdle();
    } finally {
      await pairs.stop();
    }
  });
});
