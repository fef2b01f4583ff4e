import { send, sseData } from './http-client';
import { MockEngine } from './mock-engine';

const HELLO = [{ role: 'user', content: 'Hello!' }];

describe('MockEngine in the OpenAI and Anthropic protocols', () => {
  const engine = new MockEngine({ tokens: 3 });
  const post = (path: string, body: unknown) => send(engine.url + path, 'POST', body);

  beforeAll(() => engine.start());
  afterAll(() => engine.stop());

  it('answers chat', async () => {
    const body = (await post('/v1/chat/completions', { model: 'm', messages: HELLO })).json();
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'm',
      usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
      metadata: { weight_version: 'default' },
    });
    expect(body.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant' },
    });
    expect((await post('/v1/chat/completions', { messages: [] })).status).toBe(400);
  });

  it('streams chat in chunks that add up to the buffered text', async () => {
    const request = { messages: HELLO, n: 2 };
    const whole = (await post('/v1/chat/completions', request)).json();
    const got = await post('/v1/chat/completions', {
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const data = sseData(got.text);
    expect(data.pop()).toBe('[DONE]');
    const chunks = data.map((line) => JSON.parse(line));
    expect(new Set(chunks.map((chunk) => chunk.object))).toEqual(
      new Set(['chat.completion.chunk']),
    );
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });
    for (const index of [0, 1]) {
      const mine = chunks.map(({ choices }) => choices[0]).filter((one) => one?.index === index);
      const text = mine.map(({ delta }) => delta.content ?? '').join('');
      expect(text).toBe(whole.choices[index].message.content);
      expect(mine.at(-1).finish_reason).toBe('stop');
    }
  });

  it('answers completions of text, of texts and of ids', async () => {
    for (const [prompt, count] of [
      ['a', 1],
      [['a', 'b'], 2],
      [[1, 2], 1],
      [[[1], [2]], 2],
    ]) {
      const body = (await post('/v1/completions', { prompt })).json();
      expect(body.choices).toHaveLength(count as number);
    }
    const data = sseData((await post('/v1/completions', { prompt: 'a', stream: true })).text);
    expect(data.at(-1)).toBe('[DONE]');
    expect(JSON.parse(data.at(-2)!).choices[0].finish_reason).toBe('stop');
  });

  it('answers messages, and streams them from message_start to message_stop', async () => {
    const request = { model: 'm', max_tokens: 2, messages: HELLO };
    const body = (await post('/v1/messages', request)).json();
    expect(body).toMatchObject({ type: 'message', stop_reason: 'max_tokens' });
    expect(body.content[0].type).toBe('text');
    const got = await post('/v1/messages', { ...request, stream: true });
    const names = got.text.match(/^event: (.*)$/gm)!.map((line) => line.slice(7));
    expect([names[0], names.at(-1)]).toEqual(['message_start', 'message_stop']);
    expect(got.text).not.toContain('[DONE]');
    const deltas = sseData(got.text).map((line) => JSON.parse(line).delta?.text ?? '');
    expect(deltas.join('')).toBe(body.content[0].text);
  });

  it('answers responses, and streams them to response.completed without [DONE]', async () => {
    const body = (await post('/v1/responses', { input: 'Hello!' })).json();
    expect(body).toMatchObject({ object: 'response', status: 'completed' });
    const got = await post('/v1/responses', { input: 'Hello!', stream: true });
    const events = sseData(got.text).map((line) => JSON.parse(line));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(events.at(-1).type).toBe('response.completed');
    expect(events.at(-1).response.output[0].content).toEqual(body.output[0].content);
    expect((await send(`${engine.url}/v1/responses/${body.id}`)).json()).toHaveProperty(
      'id',
      body.id,
    );
    expect((await post(`/v1/responses/${body.id}/cancel`, {})).status).toBe(200);
    expect((await send(`${engine.url}/v1/responses/nope`)).status).toBe(404);
  });

  it('ranks documents best first, without their text when asked so', async () => {
    const request = { query: 'q', documents: ['a', 'b', 'c'] };
    interface Ranked {
      readonly score: number;
      readonly index: number;
      readonly document?: string;
    }
    const list: Ranked[] = (await post('/v1/rerank', request)).json();
    const scores = list.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(list.map(({ index }) => request.documents[index])).toEqual(list.map((e) => e.document));
    const bare: Ranked[] = (await post('/rerank', { ...request, return_documents: false })).json();
    expect(bare.some((entry) => 'document' in entry)).toBe(false);
    expect((await post('/v1/rerank', { ...request, query: ' ' })).status).toBe(400);
  });

  it('embeds and classifies each input', async () => {
    const embedded = (await post('/v1/embeddings', { input: ['a', 'b'] })).json();
    expect([embedded.data[0].embedding.length, embedded.data[1].embedding.length]).toEqual([8, 8]);
    expect(embedded.data[0].embedding).not.toEqual(embedded.data[1].embedding);
    const classes = (await post('/v1/classify', { input: 'a' })).json();
    expect(classes.data[0].probs.reduce((sum: number, p: number) => sum + p)).toBeCloseTo(1);
  });
});
