import { MockEngine } from '@smg/testing';
import { type RunningGateway, startGateway } from '../support/gateway';
import { type Answer, send } from '../support/http';
import { type WorkersClient, workersOf } from '../support/workers';
import { chat, DONE, generate, MODEL } from './support/bodies';
import { describeLanes } from './support/lanes';

const CHAT = '/v1/chat/completions';
type Body = Record<string, unknown>;

describeLanes('[6.2] a pair of vLLM engines', ({ hotLane }) => {
  let gateway: RunningGateway;
  let workers: WorkersClient;
  let prefill: MockEngine;
  let decode: MockEngine;
  let ids: string[] = [];
  const ask = (body: unknown): Promise<Answer> => send(gateway.url + CHAT, { body });
  const sentTo = (engine: MockEngine): Body => engine.requestsTo(CHAT).at(-1)?.json() as Body;
  const register = async (connector: object): Promise<void> => {
    for (const id of ids) await workers.remove(id);
    await workers.untilCount(0);
    ids = [
      await workers.added({ url: prefill.url, worker_type: 'prefill', ...connector }),
      await workers.added({ url: decode.url, worker_type: 'decode' }),
    ];
  };
  beforeAll(async () => {
    prefill = await new MockEngine({ kind: 'vllm' }).start();
    decode = await new MockEngine({ kind: 'vllm' }).start();
    gateway = await startGateway({
      requests: { hotLane },
      pd: { enabled: true },
      retry: { disabled: true },
      health: { drainSettleSecs: 0 },
    });
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    await Promise.all([prefill.stop(), decode.stop()]);
    await gateway.close();
  });
  afterEach(() => {
    prefill.behaveNormally();
    decode.behaveNormally();
  });

  it('NIXL: prefill makes one token, and decode learns from its answer', async () => {
    await register({ kv_connector: 'NixlConnector' });
    const got = await ask(chat({ stream: true, max_tokens: 5, stream_options: {} }));
    expect(got.text.endsWith(DONE)).toBe(true);
    expect(got.headers['x-smg-routed-worker-id']).toBe(decode.url);
    const filled = sentTo(prefill);
    expect(filled).toMatchObject({
      stream: false,
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
    });
    expect(filled).not.toHaveProperty('stream_options');
    expect(sentTo(decode)).toMatchObject({
      stream: true,
      max_tokens: 5,
      kv_transfer_params: { do_remote_prefill: true, remote_engine_id: `engine-${prefill.port}` },
    });
  });

  it('NIXL: what the engine returned goes on byte for byte; nothing returned is counted', async () => {
    const params = '{"remote_block_ids":[9007199254740993],"x":1.0}';
    prefill.behave({ route: CHAT, times: 1, body: `{"kv_transfer_params":${params}}` });
    await ask(chat());
    expect(decode.requestsTo(CHAT).at(-1)?.body.toString()).toContain(params);
    prefill.behave({ route: CHAT, times: 1, body: '{}' });
    expect((await ask(chat())).status).toBe(200);
    expect(sentTo(decode)).not.toHaveProperty('kv_transfer_params');
    const text = await gateway.metrics();
    expect(text).toContain('smg_pd_kv_transfer_failures_total 1');
    expect(text).toContain('smg_pd_kv_connector_mode_total{mode="nixl"} 3');
  });

  it('several answers to one prompt need no prefill', async () => {
    const before = prefill.requestsTo(CHAT).length;
    const got = await ask(chat({ n: 2 }));
    expect(got.json['choices']).toHaveLength(2);
    expect(prefill.requestsTo(CHAT)).toHaveLength(before);
  });

  it('Mooncake: both learn the same transfer', async () => {
    await register({
      kv_connector: 'MooncakeConnector',
      kv_engine_id: 'E',
      bootstrap_port: 7001,
    });
    await ask(chat());
    const { transfer_id: id } = sentTo(prefill)['kv_transfer_params'] as Body;
    expect(id).toMatch(
      /^xfer-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(sentTo(decode)['kv_transfer_params']).toEqual({
      do_remote_decode: false,
      do_remote_prefill: true,
      transfer_id: id,
      remote_engine_id: 'E',
      remote_bootstrap_addr: 'http://127.0.0.1:7001',
    });
  });

  it('any other connector: only what is returned', async () => {
    await register({});
    await ask(chat());
    expect(sentTo(prefill)).not.toHaveProperty('kv_transfer_params');
    expect(sentTo(decode)).toEqual(chat());
  });

  it.each([
    [422, { error: { message: 'too long' } }, 'too long'],
    [503, 'busy', 'busy'],
  ])('a refusal of prefill (%i) is passed on, decode is not asked', async (status, body, text) => {
    const before = decode.requestsTo(CHAT).length;
    prefill.behave({ route: CHAT, times: 1, status, body });
    const got = await ask(chat());
    expect(got.status).toBe(status);
    expect(got.json['error']).toMatchObject({ code: 'prefill_upstream_error', message: text });
    expect(decode.requestsTo(CHAT)).toHaveLength(before);
  });

  it.each([
    ['prefill', 'request', 'prefill_request_failed'],
    ['prefill', 5, 'prefill_read_failed'],
    ['decode', 'request', 'decode_request_failed'],
  ] as const)('%s breaks at %s: %s', async (leg, at, code) => {
    const engine = leg === 'prefill' ? prefill : decode;
    engine.behave({ route: CHAT, cut: { how: 'reset', at } });
    const got = await ask(chat());
    expect([got.status, got.json['error'].code]).toEqual([502, code]);
    expect(got.headers['x-smg-routed-worker-id']).toBe(decode.url);
  });
});

describeLanes('which pair is chosen', ({ hotLane }) => {
  it('[123, 4.6, decision 9] filters first on both legs, then a runtime that both have', async () => {
    const kinds = ['vllm', 'sglang'] as const;
    const engines = await Promise.all(
      [...kinds, ...kinds].map((kind) => new MockEngine({ kind }).start()),
    );
    const gateway = await startGateway({
      requests: { hotLane },
      pd: { enabled: true },
      routing: { workerFilterHeader: 'x-want' },
      retry: { disabled: true },
    });
    try {
      const workers = workersOf(gateway.url);
      const labels = [{ tier: 'a' }, { tier: 'a' }, { tier: 'b' }, { tier: 'a' }];
      for (const [index, { url }] of engines.entries()) {
        await workers.added({
          url,
          worker_type: index < 2 ? 'prefill' : 'decode',
          labels: labels[index] as Record<string, string>,
        });
      }
      const ask = (want: string): Promise<Answer> =>
        send(gateway.url + CHAT, { body: chat(), headers: { 'x-want': want } });
      // Tier a has prefill workers of both kinds, and a decode worker of one.
      for (let i = 0; i < 6; i += 1) {
        const got = await ask('tier=a');
        expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, engines[3]?.url]);
      }
      expect(engines[0]?.requestsTo(CHAT)).toHaveLength(0);
      for (const want of ['tier=b', 'tier=c']) {
        const got = await ask(want);
        expect([got.status, got.json['error'].code]).toEqual([503, 'workers_filtered']);
        expect(got.headers).not.toHaveProperty('x-smg-routed-worker-id');
      }
      await workers.remove((await workers.byUrl(engines[3]?.url ?? '')).id);
      await workers.untilCount(3);
      await workers.remove((await workers.byUrl(engines[0]?.url ?? '')).id);
      await workers.untilCount(2);
      const none = await send(gateway.url + CHAT, { body: chat() });
      expect([none.status, none.json['error'].code]).toEqual([503, 'server_selection_failed']);
      expect(none.json['error'].message).toMatch(/^No available servers: /);
    } finally {
      await Promise.all(engines.map((engine) => engine.stop()));
      await gateway.close();
    }
  });

  it('[4.1] with IGW, pairs and regular workers share a model by their number', async () => {
    const engines = await Promise.all([{}, {}, {}].map((it) => new MockEngine(it).start()));
    const [regular, prefill, decode] = engines;
    const gateway = await startGateway(
      {
        requests: { hotLane },
        routing: { enableIgw: true },
        pd: { prefill: [prefill?.url ?? ''], decode: [decode?.url ?? ''] },
        workers: { urls: [regular?.url ?? ''] },
      },
      { ready: 3 },
    );
    try {
      for (let i = 0; i < 60; i += 1) {
        const got = await send(`${gateway.url}/generate`, { body: generate({ model: MODEL }) });
        expect(got.status).toBe(200);
      }
      const alone = regular?.requestsTo('/generate').length ?? 0;
      expect(alone + (decode?.requestsTo('/generate').length ?? 0)).toBe(60);
      expect(alone).toBeGreaterThan(5);
      expect(alone).toBeLessThan(40);
      const only = await send(`${gateway.url}/v1/embeddings`, {
        body: { model: MODEL, input: 'x' },
      });
      expect(only.headers['x-smg-routed-worker-id']).toBe(regular?.url);
    } finally {
      await Promise.all(engines.map((engine) => engine.stop()));
      await gateway.close();
    }
  });
});
