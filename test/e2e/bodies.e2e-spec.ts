import { MockEngine } from '@smg/testing';
import { createHash } from 'node:crypto';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { chat, generate } from './support/bodies';
import { describeLanes } from './support/lanes';
import { sendRaw, statusOf } from './support/raw-client';

const CHAT = '/v1/chat/completions';
const sha = (data: Buffer) => createHash('sha256').update(data).digest('hex');

/** A `/generate` body of exactly `size` bytes. */
function bodyOf(size: number): Buffer {
  const empty = JSON.stringify(generate({ text: '' }));
  return Buffer.from(JSON.stringify(generate({ text: 'x'.repeat(size - empty.length) })));
}

describeLanes('bodies', ({ hotLane }) => {
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
    engine.requests.length = 0;
  });

  const post = (route: string, body: unknown) => send(`${gateway.url}${route}`, { body });
  const seen = (route: string) => engine.requestsTo(route).at(-1);

  it('[R31] bodies either side of every power of two up to 4 MiB arrive whole, both ways', async () => {
    for (let power = 10; power <= 22; power += 1) {
      for (const offset of [-1, 0, 1]) {
        const body = bodyOf(2 ** power + offset);
        const forget = engine.behave({ route: '/generate', body });
        const answer = await post('/generate', body);
        forget();
        expect(answer.status).toBe(200);
        expect(answer.body.length).toBe(body.length);
        expect(answer.body.equals(body)).toBe(true);
        expect(seen('/generate')?.body.equals(body)).toBe(true);
        engine.requests.length = 0;
      }
    }
  });

  it.each([640_000, 10_000_000, ...(hotLane ? [100_000_000] : [])])(
    '[R31] a body of %i bytes arrives whole, both ways',
    async (size) => {
      const body = bodyOf(size);
      engine.behave({ route: '/generate', body });
      const answer = await post('/generate', body);
      expect(answer.status).toBe(200);
      expect(sha(answer.body)).toBe(sha(body));
      expect(sha(seen('/generate')?.body ?? Buffer.alloc(0))).toBe(sha(body));
    },
  );

  it.each([
    ['a big integer', '{"text":"a","sampling_params":{"sampling_seed":9007199254740993}}'],
    ['spaces and order', '{ "text" : "a",\n\t"b":1 , "a":2 }'],
    ['floats as written', '{"text":"a","sampling_params":{"temperature":0.70,"top_p":1e-1}}'],
    ['escapes', '{"text":"\\u6c49\\ud83d\\ude42 \\/"}'],
    ['a repeated key', '{"text":"a","x":1,"x":2}'],
    ['null and unknown fields', '{"text":"a","stream":null,"rid":null,"new_field":{"a":[]}}'],
  ])('[#81] a body with %s reaches the engine byte for byte', async (_what, body) => {
    expect((await post('/generate', body)).status).toBe(200);
    expect(seen('/generate')?.body.toString()).toBe(body);
  });

  it('[#81] big integers of an answer reach the client byte for byte', async () => {
    const body = '{"bootstrap_room":9007199254740993,"x":1.0}';
    engine.behave({ route: '/generate', body });
    expect((await post('/generate', generate())).text).toBe(body);
  });

  it('[G12] /generate answers with text and a finish reason', async () => {
    const answer = await post('/generate', { text: 'Hello, world!', stream: false });
    expect(answer.status).toBe(200);
    expect(typeof answer.json['text']).toBe('string');
    expect(answer.json['meta_info']).toMatchObject({ finish_reason: { type: 'stop' } });
  });

  it('[G15] [G17] chat answers with choices, and nothing is added to the body', async () => {
    const answer = await post(CHAT, chat());
    expect(answer.status).toBe(200);
    expect(answer.json['choices']).toHaveLength(1);
    expect(seen(CHAT)?.json()).toEqual(chat());
  });

  it('[G18] completions take a text or a list of texts', async () => {
    for (const prompt of ['Hello', ['Hello', 'there']]) {
      expect((await post('/v1/completions', { model: 'mock-model', prompt })).status).toBe(200);
    }
  });

  it('[G19] messages answer in the words of their protocol', async () => {
    const answer = await post('/v1/messages', chat({ max_tokens: 8 }));
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ type: 'message', content: [{ type: 'text' }] });
  });

  it('[G20] responses answer completed', async () => {
    const answer = await post('/v1/responses', { model: 'mock-model', input: 'hi' });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ object: 'response', status: 'completed' });
  });

  it.each(['{invalid json}', '', '[]', '"text"', 'null', '{"text":"a"', '{"text":"a"}x', '\x00'])(
    '[G21] the body %j is 400, and reaches no engine',
    async (body) => {
      const before = engine.counters.received;
      for (const route of ['/generate', CHAT]) {
        const answer = await post(route, Buffer.from(body));
        expect(answer.status).toBe(400);
        expect(answer.json['error']).toMatchObject({
          type: 'invalid_request_error',
          code: 'json_parse_error',
        });
        expect(answer.headers['x-request-id']).toBeDefined();
      }
      expect(engine.counters.received).toBe(before);
    },
  );

  it('[G22] an unknown model is 404 model_not_found, and reaches no engine', async () => {
    const before = engine.counters.received;
    const answer = await post(CHAT, chat({ model: 'other' }));
    expect(answer.status).toBe(404);
    expect(answer.json['error']).toMatchObject({ type: 'Not Found', code: 'model_not_found' });
    expect(answer.headers['x-smg-error-code']).toBe('model_not_found');
    expect(answer.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(engine.counters.received).toBe(before);
  });

  it.each([
    ['GET', '/unknown_endpoint', 404],
    ['POST', '/api/v2/generate', 404],
    ['POST', '/generate/', 404],
    ['POST', '//generate', 404],
    ['POST', '/v1/rl/pause', 404],
    ['GET', '/v1/rl/status', 404],
    ['GET', '/generate', 405],
    ['PUT', CHAT, 405],
    ['POST', '/health', 405],
    ['DELETE', '/workers', 405],
  ])('[G23] %s %s is %i without a body', async (method, path, status) => {
    const answer = await send(`${gateway.url}${path}`, { method });
    expect(answer.status).toBe(status);
    expect(answer.body).toHaveLength(0);
    expect(typeof answer.headers.allow).toBe(status === 405 ? 'string' : 'undefined');
  });

  it('[G25] token ids and a list of texts are the engine’s to judge', async () => {
    for (const body of [{ input_ids: [[1], [2]] }, { text: ['a', 'b'] }]) {
      expect((await post('/generate', body)).status).toBe(200);
      expect(seen('/generate')?.json()).toEqual(body);
    }
  });

  it.each([
    [CHAT, { model: 'mock-model' }],
    [CHAT, { model: 'mock-model', messages: 'hi' }],
    [CHAT, { messages: [] }],
    [CHAT, { model: 7, messages: [{}] }],
    ['/v1/completions', { model: 'mock-model' }],
    ['/v1/completions', { model: 'mock-model', prompt: 7 }],
    ['/generate', { model: ['a'] }],
  ])('[G26] %s with %j cannot be routed: 400 json_parse_error', async (route, body) => {
    const answer = await post(route, body);
    expect(answer.status).toBe(400);
    expect(answer.json['error']).toMatchObject({
      type: 'invalid_request_error',
      code: 'json_parse_error',
    });
    expect(answer.headers['x-smg-error-code']).toBeUndefined();
  });

  it('[G26] engine parameters out of range are the engine’s to judge', async () => {
    const body = chat({ temperature: 3, top_k: -7 });
    expect((await post(CHAT, body)).status).toBe(200);
    expect(seen(CHAT)?.json()).toEqual(body);
  });

  it('[G14] [G19] [G36] the 500 of an engine is 500 on every route', async () => {
    engine.behave({ status: 500 });
    const bodies: [string, object][] = [
      ['/generate', generate()],
      ['/v1/messages', chat({ max_tokens: 4 })],
      ['/v1/rerank', { query: 'q', documents: ['a'] }],
    ];
    for (const [route, body] of bodies) {
      const answer = await post(route, body);
      expect(answer.status).toBe(500);
      expect(answer.headers['x-smg-error-code']).toBeUndefined();
    }
  });
});

/** Sends a body without saying how long it is. */
async function sendChunked(port: number, body: Buffer): Promise<{ status: number; text: string }> {
  const message = Buffer.concat([
    Buffer.from(
      `POST /generate HTTP/1.1\r\nHost: g\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
    ),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  const { text } = await sendRaw(port, message);
  return { status: statusOf(text), text };
}

describeLanes('the size limit', ({ hotLane }) => {
  it.each([
    [1024, 2048, 413],
    [1024 * 1024, 100 * 1024, 200],
    [256 * 1024 * 1024, 1024 * 1024, 200],
    [4096, 4096, 200],
    [4096, 4097, 413],
  ])('[G24] limit %i, body %i: %i, declared or chunked', async (maxPayloadSize, size, status) => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway(
      { requests: { hotLane, maxPayloadSize }, health: { checksDisabled: true } },
      { engines: [engine] },
    );
    try {
      engine.behave({ route: '/generate', body: { ok: true } });
      const body = bodyOf(size);
      for (const isChunked of [false, true]) {
        const answer = isChunked
          ? await sendChunked(gateway.port, body)
          : await send(`${gateway.url}/generate`, { body });
        expect(answer.status).toBe(status);
        if (status === 413) {
          expect(answer.text).toContain('request_body_too_large');
          expect(engine.counters.of('/generate')).toBe(0);
        }
      }
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
