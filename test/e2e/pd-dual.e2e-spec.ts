import { KvRooms, type MockEngine } from '@smg/testing';
import { type Answer, send } from '../support/http';
import { chat, chatStream, dataOf, DONE, generate, MODEL } from './support/bodies';
import { describeLanes } from './support/lanes';
import { type Pairs, startPairs } from './support/pairs';

const CHAT = '/v1/chat/completions';
const BIG = '9007199254740993';
const last = (engine: MockEngine | undefined, path = '/generate') =>
  engine?.requestsTo(path).at(-1);
const bodyOf = (engine: MockEngine | undefined, path?: string) =>
  last(engine, path)?.body.toString() ?? '';

describeLanes('[6.1] a pair of SGLang engines', ({ hotLane }) => {
  let pairs: Pairs;
  let prefill: MockEngine | undefined;
  let decode: MockEngine | undefined;
  const post = (path: string, body: unknown, headers = {}): Promise<Answer> =>
    send(pairs.url + path, { body, headers });
  beforeAll(async () => {
    pairs = await startPairs({
      requests: { hotLane },
      workers: { modelAliases: [{ alias: 'the-alias', canonical: MODEL }] },
    });
    [prefill] = pairs.prefill;
    [decode] = pairs.decode;
    new KvRooms(pairs.engines);
  });
  afterAll(() => pairs.stop());
  afterEach(async () => {
    for (const engine of pairs.engines) engine.behaveNormally();
    await pairs.untilIdle();
  });

  it("sends both the same body, every other byte the client's", async () => {
    const raw = ` {"text" : "x", "sampling_params":{"temperature":0.70,"seed":${BIG}}, "bootstrap_room":7 }`;
    const got = await post('/generate', raw);
    expect(got.status).toBe(200);
    expect(got.headers['x-smg-routed-worker-id']).toBe(decode?.url);
    expect(bodyOf(prefill)).toBe(bodyOf(decode));
    const room = /"bootstrap_room":(\d+)/.exec(bodyOf(decode))?.[1] ?? '';
    expect(BigInt(room)).toBeLessThan(2n ** 63n);
    expect(bodyOf(decode)).toBe(
      raw
        .replace('{', '{"bootstrap_host":"127.0.0.1","bootstrap_port":null,')
        .replace('"bootstrap_room":7', `"bootstrap_room":${room}`),
    );
  });

  it.each([
    [
      '/generate',
      generate({ input_ids: Array.from({ length: 16 }, (_, i) => [i]), text: undefined }),
      16,
    ],
    ['/generate', generate({ text: ['a', 'b'] }), 2],
    ['/v1/chat/completions', chat({ n: 3 }), 3],
    ['/v1/completions', { model: MODEL, prompt: ['a', 'b', 'c', 'd'] }, 4],
  ])('%s with a batch gets lists', async (path, body, size) => {
    expect((await post(path, body)).status).toBe(200);
    const text = bodyOf(decode, path);
    const sent = JSON.parse(text) as Record<string, unknown[]>;
    expect(sent['bootstrap_host']).toEqual(Array(size).fill('127.0.0.1'));
    expect(sent['bootstrap_port']).toEqual(Array(size).fill(null));
    const rooms = /"bootstrap_room":\[([\d,]+)\]/.exec(text)?.[1]?.split(',');
    expect(new Set(rooms).size).toBe(size);
    expect(bodyOf(prefill, path)).toBe(text);
  });

  it('refuses a batch that nobody can mean', async () => {
    const got = await post('/v1/chat/completions', chat({ n: 1e9 }));
    expect([got.status, got.json['error'].code]).toEqual([400, 'invalid_request']);
  });

  it('writes the canonical model for both, and relays what decode says', async () => {
    const got = await post('/v1/chat/completions', chat({ model: 'the-alias' }));
    expect(got.json['model']).toBe(MODEL);
    for (const engine of pairs.engines) {
      expect(last(engine, '/v1/chat/completions')?.json()).toMatchObject({ model: MODEL });
    }
    const unknown = await post('/v1/chat/completions', chat({ model: 'nobody' }));
    expect([unknown.status, unknown.json['error'].code]).toEqual([404, 'model_not_found']);
  });

  it('shows both the headers the client may send on', async () => {
    const headers = { 'x-request-id': 'r-1', authorization: 'Bearer c', cookie: 'no' };
    const got = await post('/generate', generate(), headers);
    expect(got.headers['x-request-id']).toBe('r-1');
    for (const engine of pairs.engines) {
      expect(last(engine)?.header('x-request-id')).toBe('r-1');
      expect(last(engine)?.header('authorization')).toBe('Bearer c');
      expect(last(engine)?.header('cookie')).toBeUndefined();
    }
  });

  it('streams from decode to the end marker, and not beyond', async () => {
    const whole = await post('/v1/chat/completions', chatStream());
    expect(whole.headers['content-type']).toContain('text/event-stream');
    expect(whole.text.endsWith(DONE)).toBe(true);
    const late = { data: 'more', delayMs: 60_000 };
    for (const chunks of [
      ['data: {}\n\nda', 'ta: [DONE]\n\ndata: {"late":1}\n\n', late],
      ['data: {}\n\ndata: [DONE]\n', late],
    ]) {
      decode?.behave({ route: CHAT, times: 1, chunks });
      const got = await post(CHAT, chatStream());
      expect([got.text, got.aborted]).toEqual([`data: {}\n\n${DONE}`, false]);
    }
  });

  it('does not mistake text for the end marker', async () => {
    const body = 'data: {"text":"data: [DONE]"}\n\n';
    decode?.behave({ route: CHAT, times: 1, chunks: [body, DONE] });
    expect((await post('/v1/chat/completions', chatStream())).text).toBe(body + DONE);
  });

  it.each(['/v1/embeddings', '/v1/classify', '/v1/rerank'])('%s is not for pairs', async (path) => {
    const body = { model: MODEL, input: 'x', query: 'q', documents: ['d'] };
    const got = await post(path, body);
    expect([got.status, got.headers['content-type']]).toEqual([501, 'text/plain; charset=utf-8']);
    expect(got.text).toBe(`${path} is not supported with prefill/decode disaggregation`);
  });

  it.each([
    ['/v1/messages', { model: MODEL, max_tokens: 4, messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/responses', { model: MODEL, input: 'x' }],
    ['/v1/completions', { model: MODEL, prompt: 'x' }],
    ['/rerank', { model: MODEL, query: 'q', documents: ['d'] }],
  ])('%s is', async (path, body) => {
    const got = await post(path, body);
    expect([path, got.status]).toEqual([path, 200]);
    expect(got.headers['x-smg-routed-worker-id']).toBe(decode?.url);
  });

  it('measures prefill and first byte, of whole answers too', async () => {
    await post('/generate', generate());
    const text = await pairs.metrics();
    for (const name of ['smg_pd_prefill_duration_seconds', 'smg_pd_ttft_seconds']) {
      const line = `${name}_count{backend_type="pd",model="unknown",runtime="sglang"} `;
      expect(Number(text.split(line)[1]?.split('\n')[0])).toBeGreaterThan(0);
    }
    expect(text).toMatch(/smg_router_requests_total\{router_type="http",backend_type="pd"/);
  });

  const answer = (list: string, more = ''): string =>
    `{"text":"x","meta_info":{"id":${BIG},"input_token_logprobs":${list}}${more}}`;

  it('puts the logprobs of the prompt in front of those of decode', async () => {
    prefill?.behave({ route: '/generate', times: 1, body: answer(`[[-0.50,${BIG},null]]`) });
    decode?.behave({
      route: '/generate',
      times: 1,
      body: answer('[[-1,2,null]]', ',"seed":18446744073709551615'),
    });
    const got = await post('/generate', generate({ return_logprob: true }));
    const joined = answer(`[[-0.50,${BIG},null],[-1,2,null]]`, ',"seed":18446744073709551615');
    expect(got.text).toBe(joined);
    expect(got.headers['content-length']).toBe(String(joined.length));
    prefill?.behave({
      route: '/generate',
      times: 1,
      body: `[${answer('[[1]]')},${answer('[[2]]')}]`,
    });
    decode?.behave({ route: '/generate', times: 1, body: `[${answer('[]')},${answer('[[4]]')}]` });
    const batch = await post('/generate', generate({ text: ['a', 'b'], return_logprob: true }));
    expect(batch.text).toBe(`[${answer('[[1]]')},${answer('[[2],[4]]')}]`);
  });

  it('does so in every event of a stream, wherever its bytes break', async () => {
    const event = (list: string): string => `data: ${answer(list)}\n\n`;
    prefill?.behave({ route: '/generate', chunks: [event('[]'), event(`[[${BIG}]]`), DONE] });
    const stream = `${event('[]')}${event('[[5]]')}${DONE}`;
    const expected = `${event(`[[${BIG}]]`)}${event(`[[${BIG}],[5]]`)}${DONE}`;
    for (let at = 1; at < stream.length; at += 5) {
      decode?.behave({
        route: '/generate',
        times: 1,
        chunks: [stream.slice(0, at), stream.slice(at)],
      });
      const got = await post('/generate', generate({ return_logprob: true, stream: true }));
      expect(got.text).toBe(expected);
    }
    decode?.behave({ route: '/generate', times: 1, chunks: stream.split('') });
    const bytewise = await post('/generate', generate({ return_logprob: true, stream: true }));
    expect(bytewise.text).toBe(expected);
    expect(dataOf(bytewise.text)).toHaveLength(3);
  });

  it('leaves the answer alone where nobody asked', async () => {
    prefill?.behave({ route: '/generate', times: 1, body: answer('[[1]]') });
    decode?.behave({ route: '/generate', times: 1, body: answer('[[2]]') });
    expect((await post('/generate', generate())).text).toBe(answer('[[2]]'));
  });
});

describe('[11] pairs at start-up', () => {
  it('rows 88 and 90: two and two, power_of_two, with bootstrap ports', async () => {
    const pairs = await startPairs(
      { routing: { prefillPolicy: 'power_of_two', decodePolicy: 'power_of_two' } },
      { prefill: [{}, {}], decode: [{}, {}], ports: ['9000', 'none'] },
    );
    try {
      for (let i = 0; i < 10; i += 1) {
        expect((await send(`${pairs.url}/generate`, { body: generate() })).status).toBe(200);
      }
      const ports = pairs.prefill.map((engine) => {
        const sent = last(engine)?.jsonObject();
        return sent === undefined ? undefined : sent['bootstrap_port'];
      });
      for (const [index, port] of ports.entries()) {
        if (port !== undefined) expect(port).toBe(index === 0 ? 9000 : null);
      }
      await pairs.untilIdle();
    } finally {
      await pairs.stop();
    }
  });

  it('row 88: one and two, round_robin', async () => {
    const pairs = await startPairs({ routing: { policy: 'round_robin' } }, { decode: [{}, {}] });
    try {
      for (let i = 0; i < 20; i += 1) {
        expect((await send(`${pairs.url}/generate`, { body: generate() })).status).toBe(200);
      }
      expect(pairs.decode.map((engine) => engine.requestsTo('/generate').length)).toEqual([10, 10]);
    } finally {
      await pairs.stop();
    }
  });

  it('row 89: one failing decode worker and a good one', async () => {
    const pairs = await startPairs(
      { routing: { policy: 'round_robin' }, retry: { disabled: false, maxAttempts: 3 } },
      { decode: [{}, {}] },
    );
    try {
      pairs.decode[0]?.behave({ route: '/generate', status: 500 });
      for (let i = 0; i < 6; i += 1) {
        expect((await send(`${pairs.url}/generate`, { body: generate() })).status).toBe(200);
      }
      await pairs.untilIdle();
    } finally {
      await pairs.stop();
    }
  });
});
