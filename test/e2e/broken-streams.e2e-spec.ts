import { MockEngine, type CutKind } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatEvent, chatStream, dataOf, DONE } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';
const FRAME = chatEvent('x'.repeat(40));
const FRAMES = Array.from({ length: 5 }, () => FRAME);
const ids = { 'x-request-id': 'broken-1' };

// An error nobody listens to fails the running test: Jest turns uncaught exceptions and unhandled
// rejections of the process into failures.
describeLanes('a stream that breaks', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane },
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

  const failures = async () =>
    sample(await gateway.metrics(), 'smg_worker_cb_outcomes_total', { outcome: 'failure' });
  const truncations = async () =>
    sample(await gateway.metrics(), 'smg_router_streams_truncated_total');

  const n = FRAME.length;
  const cuts: [string, CutKind, 'chunked' | 'close', number][] = [];
  for (const how of ['reset', 'fin'] as const) {
    for (const framing of ['chunked', 'close'] as const) {
      cuts.push([`${how}, ${framing}, after 1 frame`, how, framing, n]);
      cuts.push([`${how}, ${framing}, after 3 frames`, how, framing, 3 * n]);
      cuts.push([`${how}, ${framing}, inside a frame`, how, framing, 2 * n + 17]);
      cuts.push([`${how}, ${framing}, inside the first frame`, how, framing, 9]);
    }
  }

  it.each(cuts)(
    '[R06] [R09] cut by %s: an error event, an aborted transfer, no [DONE], a failure for the breaker',
    async (_title, how, framing, at) => {
      engine.behave({ route: CHAT, chunks: [...FRAMES, DONE], framing, cut: { how, at } });
      const [failed, truncated] = [await failures(), await truncations()];
      const answer = await send(`${gateway.url}${CHAT}`, { body: chatStream(), headers: ids });
      expect(answer.status).toBe(200);
      expect(answer.aborted).toBe(true);
      expect(answer.text).not.toContain('[DONE]');
      expect(answer.text.startsWith(FRAMES.join('').slice(0, at))).toBe(true);
      expect(answer.text.endsWith('\n\n')).toBe(true);
      const last = JSON.parse(dataOf(answer.text).at(-1) ?? '') as { error: object };
      expect(last.error).toMatchObject({
        code: 'upstream_stream_truncated',
        request_id: 'broken-1',
      });
      expect(await failures()).toBe(failed + 1);
      expect(await truncations()).toBe(truncated + 1);
    },
  );

  it.each<[CutKind, 'chunked' | 'close']>([
    ['reset', 'chunked'],
    ['fin', 'chunked'],
    ['reset', 'close'],
    ['fin', 'close'],
  ])(
    '[R06] cut by %s, %s, before the first frame: a whole error answer, never a 200',
    async (how, framing) => {
      engine.behave({ route: CHAT, chunks: [...FRAMES, DONE], framing, cut: { how, at: 'head' } });
      const failed = await failures();
      const answer = await send(`${gateway.url}${CHAT}`, { body: chatStream(), headers: ids });
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(answer.aborted).toBe(false);
      expect(answer.json['error']).toMatchObject({ param: null });
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
      expect(await failures()).toBe(failed + 1);
    },
  );

  it('[R06] on the wire a cut stream has no last chunk', async () => {
    engine.behave({ route: CHAT, chunks: [...FRAMES, DONE], cut: { how: 'reset', at: 2 * n } });
    const answer = await sendRaw(gateway.port, rawPost(CHAT, JSON.stringify(chatStream())));
    expect(answer.end).not.toBe('open');
    expect(answer.text).toContain('upstream_stream_truncated');
    expect(answer.text.endsWith('0\r\n\r\n')).toBe(false);
  });

  it('[R06] an HTTP/1.0 client, whose body ends by closing, sees a reset', async () => {
    engine.behave({ route: CHAT, chunks: [...FRAMES, DONE], cut: { how: 'reset', at: 2 * n } });
    const request = rawPost(CHAT, JSON.stringify(chatStream())).replace('HTTP/1.1', 'HTTP/1.0');
    const answer = await sendRaw(gateway.port, request);
    expect(answer.text).toContain('upstream_stream_truncated');
    expect(answer.end).toBe('reset');
  });

  it('[R06] a buffered answer cut inside its body is an error, not a shorter answer', async () => {
    for (const how of ['reset', 'fin'] as const) {
      engine.behave({ route: CHAT, body: { choices: [1, 2, 3] }, cut: { how, at: 7 } });
      const answer = await send(`${gateway.url}${CHAT}`, { body: chat() });
      expect(answer.status).toBe(500);
      expect(answer.headers['x-smg-error-code']).toBe('read_response_body_failed');
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
    }
  });

  it('[R14] 300 resets at random offsets: no uncaught error, and the gateway serves on', async () => {
    const total = FRAMES.join('').length;
    const one = async () => {
      const at = Math.floor(Math.random() * total);
      const cut = { how: 'reset', at, delayMs: 0 } as const;
      engine.behave({ route: CHAT, times: 1, chunks: FRAMES, cut });
      const answer = await send(`${gateway.url}${CHAT}`, { body: chatStream() });
      expect(answer.aborted || answer.status >= 500).toBe(true);
    };
    const lane = async () => {
      for (let at = 0; at < 30; at += 1) await one();
    };
    await Promise.all(Array.from({ length: 10 }, lane));
    engine.behaveNormally();
    const after = await send(`${gateway.url}${CHAT}`, { body: chatStream() });
    expect(dataOf(after.text).at(-1)).toBe('[DONE]');
  });

  it('[R21] client abort, engine reset and end at once: each request is finished exactly once', async () => {
    const finished = async () =>
      sample(await gateway.metrics(), 'smg_http_requests_total', { path: CHAT });
    const before = await finished();
    const count = 120;
    for (let at = 0; at < count; at += 1) {
      const ends = at % 3;
      engine.behave({
        route: CHAT,
        times: 1,
        chunks: [FRAME, FRAME],
        ...(ends === 2 ? {} : { cut: { how: ends === 0 ? 'reset' : 'fin', at: n, delayMs: 0 } }),
      });
      // The client leaves upon the first bytes, the moment at which the engine cuts or ends.
      const body = rawPost(CHAT, JSON.stringify(chatStream()));
      await sendRaw(gateway.port, body, { untilText: /data:|"error"/ });
    }
    await until('every request is finished', async () => (await finished()) >= before + count);
    const page = await gateway.metrics();
    expect(await finished()).toBe(before + count);
    expect(sample(page, 'smg_http_connections_active')).toBe(0);
    expect(sample(page, 'smg_worker_requests_active')).toBe(0);
  });
});
