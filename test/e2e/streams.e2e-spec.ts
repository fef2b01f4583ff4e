import { createHash } from 'node:crypto';
import { MockEngine, type Chunk } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { chat, chatEvent, chatStream, dataOf, DONE, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

/** `bytes` cut at `offsets`, each piece a write of its own. */
function cutAt(bytes: Buffer, ...offsets: readonly number[]): Buffer[] {
  const ends = [...offsets, bytes.length];
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

describeLanes('event streams', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      { requests: { hotLane }, health: { checksDisabled: true }, breaker: { disabled: true } },
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

  const stream = (chunks: readonly Chunk[], route = CHAT) => {
    engine.behave({ route, chunks });
    return send(`${gateway.url}${route}`, {
      body: route === '/generate' ? generate({ stream: true }) : chatStream(),
    });
  };
  const warnings = () =>
    gateway.logs.filter(({ level }) => level === 'warn' || level === 'error').length;

  it('[R01] a delta of multi-byte characters survives a cut at every byte offset', async () => {
    const bytes = Buffer.from(chatEvent('汉字🙂') + DONE);
    for (let at = 1; at < bytes.length; at += 1) {
      const answer = await stream(cutAt(bytes, at));
      expect(answer.body.equals(bytes)).toBe(true);
      expect(answer.aborted).toBe(false);
      engine.behaveNormally();
    }
  });

  it('[#69] a stream that arrives one byte at a time has the same sha256', async () => {
    const bytes = Buffer.from(chatEvent('北京🚀') + DONE);
    const sha = (data: Buffer) => createHash('sha256').update(data).digest('hex');
    const answer = await stream(Array.from(bytes, (byte) => Buffer.from([byte])));
    expect(sha(answer.body)).toBe(sha(bytes));
  });

  it.each([
    ['between data: and the JSON', '\n', 5],
    ['between the two line feeds', '\n', -1],
    ['between CR and LF', '\r\n', -1],
  ])('[R02] a frame cut %s raises no warning and counts once', async (_where, newline, offset) => {
    const frame = Buffer.from(`data: {"error_rate":0}${newline}${newline}`);
    const cut = offset > 0 ? offset : frame.length + offset;
    const before = warnings();
    const answer = await stream([...cutAt(frame, cut), `data: [DONE]${newline}${newline}`]);
    expect(answer.status).toBe(200);
    expect(answer.body.subarray(0, frame.length).equals(frame)).toBe(true);
    expect(dataOf(answer.text)).toEqual(['{"error_rate":0}', '[DONE]']);
    expect(warnings()).toBe(before);
  });

  it('[R02] fifty frames in one read all arrive', async () => {
    const frames = Array.from({ length: 50 }, (_, at) => chatEvent(`t${at}`)).join('');
    const before = warnings();
    const answer = await stream([frames + DONE]);
    expect(answer.text).toBe(frames + DONE);
    expect(warnings()).toBe(before);
  });

  it('[R04] ping comments between frames pass through', async () => {
    const frames = Array.from({ length: 10 }, (_, at) => [
      `: ping - ${at}\n\n`,
      chatEvent(`${at}`),
    ]);
    const answer = await stream([...frames.flat(), DONE]);
    expect(answer.text).toBe(frames.flat().join('') + DONE);
    expect(answer.aborted).toBe(false);
  });

  it.each<[string, string, object, string]>([
    [
      '/v1/responses',
      'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n',
      { model: 'mock-model', input: 'hi', stream: true },
      'chunked',
    ],
    [
      '/v1/responses',
      'data: {"type":"response.completed","response":{}}\n\n',
      { model: 'mock-model', input: 'hi', stream: true },
      'close',
    ],
    [
      '/v1/messages',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      chatStream({ max_tokens: 4 }),
      'chunked',
    ],
    [
      '/v1/messages',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      chatStream({ max_tokens: 4 }),
      'close',
    ],
  ])('[R07] %s is complete after %j without [DONE]', async (route, last, body, framing) => {
    engine.behave({
      route,
      chunks: ['event: x\ndata: {"type":"x"}\n\n', last],
      framing: framing as 'chunked' | 'close',
    });
    const truncated = sample(await gateway.metrics(), 'smg_router_streams_truncated_total');
    const answer = await send(`${gateway.url}${route}`, { body });
    expect(answer.status).toBe(200);
    expect(answer.aborted).toBe(false);
    expect(answer.text.endsWith(last)).toBe(true);
    expect(answer.text).not.toContain('error');
    expect(sample(await gateway.metrics(), 'smg_router_streams_truncated_total')).toBe(truncated);
  });

  it('[R11] a first frame that is an error passes through and counts as an error of the worker', async () => {
    const frame = 'data: {"error":{"code":429,"message":"busy"}}\n\n';
    const read = async () =>
      sample(await gateway.metrics(), 'smg_router_request_errors_total', {
        error_type: 'backend_error',
      });
    const before = await read();
    const answer = await stream([frame, DONE]);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(frame + DONE);
    expect(await read()).toBe(before + 1);
  });

  it.each(['length', 'chunked', 'close'] as const)(
    '[R12] 200 without a byte to a streaming request is 502, framed by %s',
    async (framing) => {
      engine.behave({
        route: CHAT,
        chunks: [],
        framing,
        headers: { 'content-type': 'text/event-stream' },
      });
      const answer = await send(`${gateway.url}${CHAT}`, { body: chatStream() });
      expect(answer.status).toBe(502);
      expect(answer.headers['x-smg-error-code']).toBe('upstream_empty_response');
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
    },
  );

  it('[R37] an engine is never asked to compress, and frames keep their pace', async () => {
    const gapMs = 60;
    engine.behave({
      route: CHAT,
      chunks: [
        chatEvent('a'),
        ...['b', 'c', 'd'].map((text) => ({ data: chatEvent(text), delayMs: gapMs })),
        DONE,
      ],
    });
    const { incoming } = await open(`${gateway.url}${CHAT}`, {
      body: chatStream(),
      headers: { 'accept-encoding': 'gzip, br' },
    });
    const arrivals: number[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      if (chunk.includes('chat.completion.chunk')) arrivals.push(performance.now());
    }
    expect(engine.requestsTo(CHAT).at(-1)?.values('accept-encoding')).toEqual(['identity']);
    expect(incoming.headers['content-encoding']).toBeUndefined();
    expect(arrivals.length).toBeGreaterThanOrEqual(3);
    // First frame well before the last was sent: nothing waits for the end.
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(gapMs);
  });

  it('[R19] streams whose head and first frame are separate writes are not held back 40 ms', async () => {
    engine.behave({ route: CHAT, delayBodyMs: 1, chunks: [chatEvent('a'), DONE] });
    // Nagle's algorithm against delayed acknowledgements shows in every round; a busy machine does not.
    const medians: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const times: number[] = [];
      for (let run = 0; run < 50; run += 1) {
        const startedAt = performance.now();
        const { incoming } = await open(`${gateway.url}${CHAT}`, { body: chatStream() });
        await new Promise((resolve) => incoming.once('data', resolve));
        times.push(performance.now() - startedAt);
        incoming.resume();
      }
      medians.push(times.sort((a, b) => a - b)[25] ?? Infinity);
    }
    expect(Math.min(...medians)).toBeLessThan(25);
  });

  it('[G13] [G16] [G19] [G20] each protocol streams to its own last event', async () => {
    const ask = async (route: string, body: object) => {
      const answer = await send(`${gateway.url}${route}`, { body });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toContain('text/event-stream');
      expect(answer.aborted).toBe(false);
      return answer.text;
    };
    expect(dataOf(await ask('/generate', generate({ stream: true }))).at(-1)).toBe('[DONE]');
    const events = dataOf(await ask(CHAT, chatStream()));
    expect(events.pop()).toBe('[DONE]');
    for (const event of events) {
      expect((JSON.parse(event) as { object: string }).object).toBe('chat.completion.chunk');
    }
    const names = [
      ...(await ask('/v1/messages', chatStream({ max_tokens: 4 }))).matchAll(/^event: (.*)$/gm),
    ];
    expect(names[0]?.[1]).toBe('message_start');
    expect(names.at(-1)?.[1]).toBe('message_stop');
    expect(
      await ask('/v1/responses', { model: 'mock-model', input: 'hi', stream: true }),
    ).toContain('response.completed');
  });

  it('[G48] streamed and buffered answers name the worker', async () => {
    for (const body of [chat(), chatStream()]) {
      const answer = await send(`${gateway.url}${CHAT}`, { body });
      expect(answer.headers['x-smg-routed-worker-id']).toBe(engine.url);
    }
  });
});
