import { MockEngine } from '@smg/testing';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import OpenAI, {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  toFile,
} from 'openai';
import { startGateway, type RunningGateway } from '../support/gateway';
import { ROOT } from '../support/program';
import { until } from '../support/until';

// The library as it is published, with nothing changed but its base URL.

const run = promisify(execFile);
const MODEL = 'mock-model';
const MESSAGES = [{ role: 'user', content: 'Hello there!' }] as const;
const CHAT = '/v1/chat/completions';
const EVENT = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';

describe('the openai package', () => {
  let engine: MockEngine;
  let gateway: RunningGateway;
  let openai: OpenAI;
  beforeAll(async () => {
    engine = await new MockEngine({ kind: 'vllm', tokens: 4 }).start();
    gateway = await startGateway({ retry: { maxAttempts: 1 } }, { engines: [engine] });
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-none', maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  afterEach(() => {
    engine.behaveNormally();
  });

  const chat = (client = openai) =>
    client.chat.completions.create({ model: MODEL, messages: [...MESSAGES] });

  it('lists the models', async () => {
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toEqual([MODEL]);
    for await (const { object } of models) expect(object).toBe('model');
  });

  it('a chat completion, with ids and headers of the gateway', async () => {
    const { data, response, request_id } = await openai.chat.completions
      .create({ model: MODEL, messages: [...MESSAGES], logprobs: true })
      .withResponse();
    expect(data.choices[0]?.message.content?.split(' ')).toHaveLength(4);
    expect(data.choices[0]?.finish_reason).toBe('stop');
    expect(data.choices[0]?.logprobs?.content).toHaveLength(4);
    expect(data.usage).toEqual({ prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 });
    expect(response.headers.get('x-smg-routed-worker-id')).toBe(engine.url);
    expect(request_id).toMatch(/^chatcmpl-/);
  });

  it('a stream is the same text in pieces, with its usage at the end', async () => {
    const whole = (await chat()).choices[0]?.message.content;
    const stream = await openai.chat.completions.create({
      model: MODEL,
      messages: [...MESSAGES],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: unknown;
    const finishes: unknown[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      finishes.push(...chunk.choices.map(({ finish_reason }) => finish_reason).filter(Boolean));
      usage = chunk.usage ?? usage;
    }
    expect([text, finishes]).toEqual([whole, ['stop']]);
    expect(usage).toMatchObject({ completion_tokens: 4 });
  });

  it('its stream helper comes to the final completion', async () => {
    const runner = openai.chat.completions.stream({ model: MODEL, messages: [...MESSAGES] });
    const pieces: string[] = [];
    runner.on('content', (delta) => pieces.push(delta));
    const final = await runner.finalChatCompletion();
    expect(pieces.filter((piece) => piece !== '').join('')).toBe(final.choices[0]?.message.content);
  });

  it('a completion', async () => {
    const { choices } = await openai.completions.create({ model: MODEL, prompt: ['a', 'b'] });
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
  });

  it('embeddings, in the base64 it asks for by itself and as floats', async () => {
    const input = ['one', 'two'];
    const packed = await openai.embeddings.create({ model: MODEL, input });
    const floats = await openai.embeddings.create({
      model: MODEL,
      input,
      encoding_format: 'float',
    });
    expect(packed.data).toHaveLength(2);
    for (const [at, { embedding }] of floats.data.entries()) {
      expect([...(packed.data[at]?.embedding ?? [])]).toEqual(embedding.map(Math.fround));
    }
    const asked = engine.requestsTo('/v1/embeddings').slice(-2);
    expect(asked.map((request) => request.jsonObject()?.['encoding_format'])).toEqual([
      'base64',
      'float',
    ]);
  });

  it('a transcription from a file', async () => {
    const file = await toFile(Buffer.from('RIFF....'), 'speech.wav');
    const { text } = await openai.audio.transcriptions.create({ model: MODEL, file });
    expect(text).toBe('Hello from the tape');
  });

  describe('responses', () => {
    it('created, found again with its input, deleted, and gone', async () => {
      const created = await openai.responses.create({ model: MODEL, input: 'Tell me.' });
      expect(created.output_text.split(' ')).toHaveLength(4);
      const found = await openai.responses.retrieve(created.id);
      expect([found.id, found.output_text]).toEqual([created.id, created.output_text]);
      const items = await openai.responses.inputItems.list(created.id);
      expect(items.data[0]).toMatchObject({ role: 'user' });
      await openai.responses.delete(created.id);
      await expect(openai.responses.retrieve(created.id)).rejects.toBeInstanceOf(NotFoundError);
    });

    it('one that goes on from another is for the engine to know', async () => {
      const first = await openai.responses.create({ model: MODEL, input: 'One.' });
      const second = { model: MODEL, input: 'Two.', previous_response_id: first.id };
      await openai.responses.create(second);
      expect(engine.requestsTo('/v1/responses').at(-1)?.json()).toEqual(second);
    });

    it('streamed, event by event', async () => {
      const stream = await openai.responses.create({ model: MODEL, input: 'x', stream: true });
      const types: string[] = [];
      let text = '';
      for await (const event of stream) {
        types.push(event.type);
        if (event.type === 'response.output_text.delta') text += event.delta;
      }
      expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed']);
      expect(text.split(' ')).toHaveLength(4);
    });

    it('conversations', async () => {
      const conversation = await openai.conversations.create({ metadata: { topic: 'demo' } });
      await openai.responses.create({ model: MODEL, input: 'Hi.', conversation: conversation.id });
      const items = await openai.conversations.items.list(conversation.id);
      expect(items.data.length).toBeGreaterThan(1);
      expect((await openai.conversations.delete(conversation.id)).deleted).toBe(true);
    });
  });

  describe('errors become its classes', () => {
    const failure = (work: PromiseLike<unknown>): Promise<APIError> =>
      Promise.resolve(work).then(
        () => {
          throw new Error('it succeeded');
        },
        (error: unknown) => {
          if (!(error instanceof APIError)) throw error;
          return error;
        },
      );

    it('what the gateway refuses', async () => {
      const unknown = await failure(
        openai.chat.completions.create({ model: 'nobody', messages: [...MESSAGES] }),
      );
      expect(unknown).toBeInstanceOf(NotFoundError);
      expect(unknown.code).toBe('model_not_found');
      expect(unknown.message).toContain('nobody');
      const empty = await failure(openai.chat.completions.create({ model: MODEL, messages: [] }));
      expect(empty).toBeInstanceOf(BadRequestError);
      const path = await failure(openai.images.generate({ model: MODEL, prompt: 'x' }));
      expect(path).toBeInstanceOf(NotFoundError);
    });

    it.each([
      [400, BadRequestError],
      [429, RateLimitError],
      [500, InternalServerError],
      [503, InternalServerError],
    ])('an engine that answers %i', async (status, kind) => {
      const error = { message: 'the engine says no', type: 'T', param: null, code: status };
      engine.behave({ route: CHAT, status, body: { error } });
      const got = await failure(chat());
      expect(got).toBeInstanceOf(kind);
      expect([got.status, got.type]).toEqual([status, 'T']);
      expect(got.message).toContain('the engine says no');
      expect(got.requestID).toMatch(/^chatcmpl-/);
    });

    it('an engine that resets: 502 of the gateway', async () => {
      engine.behave({ route: CHAT, cut: { how: 'reset', at: 'request' } });
      const got = await failure(chat());
      expect(got).toBeInstanceOf(InternalServerError);
      expect([got.status, got.code]).toEqual([502, 'call_upstream_request_error']);
    });

    it('a stream that breaks off throws, and never looks finished', async () => {
      engine.behave({
        route: CHAT,
        chunks: [EVENT, EVENT],
        cut: { how: 'reset', at: EVENT.length },
      });
      const stream = await openai.chat.completions.create({
        model: MODEL,
        messages: [...MESSAGES],
        stream: true,
      });
      await expect(
        (async () => {
          for await (const _ of stream);
        })(),
      ).rejects.toThrow();
    });

    it('a wrong key, and a gateway that is not there', async () => {
      const guarded = await startGateway({ auth: { apiKey: 'sk-right' } }, { engines: [engine] });
      const at = (apiKey: string): OpenAI =>
        new OpenAI({ baseURL: `${guarded.url}/v1`, apiKey, maxRetries: 0 });
      expect((await chat(at('sk-right'))).choices).toHaveLength(1);
      const wrong = await failure(chat(at('sk-wrong')));
      expect(wrong).toBeInstanceOf(AuthenticationError);
      expect([wrong.code, wrong.type]).toEqual(['invalid_api_key', 'authentication_error']);
      expect(wrong.message).not.toContain('sk-wrong');
      await guarded.close();
      expect(await failure(chat(at('sk-right')))).toBeInstanceOf(APIConnectionError);
    });
  });

  describe('patience', () => {
    it('it tries again after 503 and 429, as the answer tells it', async () => {
      const patient = new OpenAI({ baseURL: openai.baseURL, apiKey: 'x', maxRetries: 2 });
      const seen = engine.counters.of(CHAT);
      engine.behave({ route: CHAT, status: 429, times: 1, headers: { 'retry-after-ms': '1' } });
      engine.behave({ route: CHAT, status: 503, times: 1, headers: { 'retry-after': '0.01' } });
      const startedAt = performance.now();
      expect((await chat(patient)).choices).toHaveLength(1);
      expect(engine.counters.of(CHAT)).toBe(seen + 3);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
    });

    it('its timeout ends the request at the engine, too', async () => {
      engine.behave({ route: CHAT, delayMs: 5_000 });
      // In a process of its own, as an ES module: the library knows a timeout by the class of an error,
      // and inside Jest that class is another one.
      const script = `
        import OpenAI from 'openai';
        const openai = new OpenAI({ baseURL: process.argv[1], apiKey: 'x', maxRetries: 0, timeout: 100 });
        const body = { model: '${MODEL}', messages: [{ role: 'user', content: 'x' }] };
        const error = await openai.chat.completions.create(body).then(() => undefined, (it) => it);
        console.log(error instanceof OpenAI.APIConnectionTimeoutError);
      `;
      const argv = ['--input-type=module', '--eval', script, openai.baseURL];
      const { stdout } = await run(process.execPath, argv, { cwd: ROOT, timeout: 15_000 });
      expect(stdout).toBe('true\n');
      await until('the engine is free', () => engine.counters.inFlight === 0);
    });

    it('an abort before the answer, and one in the middle of a stream', async () => {
      engine.behave({ route: CHAT, delayMs: 5_000, times: 1 });
      const early = new AbortController();
      const asked = openai.chat.completions.create(
        { model: MODEL, messages: [...MESSAGES] },
        { signal: early.signal },
      );
      await Promise.all([
        expect(asked).rejects.toBeInstanceOf(APIUserAbortError),
        sleep(50).then(() => early.abort()),
      ]);
      await until('the engine is free', () => engine.counters.inFlight === 0);
      const chunks = Array.from({ length: 100 }, () => ({ data: EVENT, delayMs: 50 }));
      engine.behave({ route: CHAT, chunks, times: 1 });
      const stream = await openai.chat.completions.create({
        model: MODEL,
        messages: [...MESSAGES],
        stream: true,
      });
      let count = 0;
      for await (const _ of stream) {
        count += 1;
        if (count === 3) break;
      }
      await until('the engine is free', () => engine.counters.inFlight === 0, 2_000);
      expect(count).toBe(3);
    });

    it('fifty at once', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => chat()));
      expect(new Set(answers.map(({ id }) => id)).size).toBe(50);
    });
  });
});
