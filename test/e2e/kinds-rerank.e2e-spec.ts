import { MockEngine, type EngineKind } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { workersOf } from '../support/workers';
import { describeLanes } from './support/lanes';

const PATH = '/v1/rerank';
const body = (more: object = {}): object => ({
  model: 'mock-model',
  query: 'q',
  documents: ['a', 'b', 'c'],
  ...more,
});

describeLanes('rankings', ({ hotLane }) => {
  let engine: MockEngine;
  let gateway: RunningGateway;
  beforeAll(async () => {
    engine = await new MockEngine().start();
    gateway = await startGateway(
      { requests: { hotLane, maxPayloadSize: 16 * 1024 }, retry: { disabled: true } },
      { engines: [engine] },
    );
  });
  afterEach(() => {
    engine.behaveNormally();
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const rerank = (more: object = {}, path = '/rerank') =>
    send(gateway.url + path, { body: body(more) });

  it('[G34] the gateway builds the answer, in the order of the worker', async () => {
    const before = Math.floor(Date.now() / 1000);
    const got = await rerank({ documents: ['a', 'b'], top_k: 2, rid: 'r-1' });
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe('application/json');
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
    const { results, created, ...rest } = got.json;
    expect(rest).toEqual({ model: 'mock-model', usage: null, object: 'rerank', id: 'r-1' });
    expect(created).toBeGreaterThanOrEqual(before);
    expect(results).toHaveLength(2);
    expect(results[0].score).toBeGreaterThanOrEqual(results[1].score);
    expect(Object.keys(results[0])).toEqual(['score', 'document', 'index', 'meta_info']);
  });

  it('[G34] engines are asked at the path they agree on, byte for byte', async () => {
    const raw = '{"model":"mock-model", "query":"q","documents":["a"],"seed":9007199254740993}';
    expect((await send(`${gateway.url}/rerank`, { body: raw })).status).toBe(200);
    expect(engine.requestsTo(PATH).at(-1)?.body.toString()).toBe(raw);
  });

  it('[G35] top_k cuts, more than there are changes nothing, return_documents leaves them out', async () => {
    expect((await rerank({ top_k: 1 })).json['results']).toHaveLength(1);
    expect((await rerank({ top_k: 99 })).json['results']).toHaveLength(3);
    expect((await rerank({ top_k: null })).json['results']).toHaveLength(3);
    // An engine that sends them all the same is not relayed.
    engine.behave({ route: PATH, body: [{ score: 1, document: 'a', index: 0 }] });
    const got = await rerank({ return_documents: false });
    expect(got.json['results']).toEqual([{ score: 1, index: 0 }]);
  });

  it('digits and integers of the engine stay as they were', async () => {
    const result =
      '{"index": 0,"score":1.0,"document":"\\u00e9","meta_info":{"n":9007199254740993}}';
    engine.behave({
      route: PATH,
      headers: { 'content-type': 'application/json' },
      chunks: [`[${result}]`],
    });
    const text = (await rerank()).text;
    expect(text).toContain(
      '{"score":1.0,"document":"\\u00e9","index":0,"meta_info":{"n":9007199254740993}}',
    );
  });

  it.each([
    ['top_k', 0],
    ['top_k', 1.5],
    ['top_k', '3'],
    ['return_documents', 'no'],
  ])('[G32] %s %p is refused, and reaches nobody', async (field, value) => {
    const before = engine.counters.received;
    const got = await rerank({ [field]: value });
    expect(got.status).toBe(400);
    expect(got.json['error'].message).toContain(field);
    expect(engine.counters.received).toBe(before);
  });

  it('[G32] an empty query and no documents are 400 as well, from the engine', async () => {
    expect((await rerank({ query: '  ' })).status).toBe(400);
    expect((await rerank({ documents: [] })).status).toBe(400);
  });

  it("[G36] an engine's failure is relayed as it is", async () => {
    engine.behave({ route: PATH, status: 500, body: { why: 'broken' } });
    const got = await rerank();
    expect([got.status, got.json]).toEqual([500, { why: 'broken' }]);
  });

  it.each([
    ['no JSON', 'plain'],
    ['no list', { results: 'none' }],
    ['a result without a score', [{ index: 0 }]],
    ['a result without an index', [{ score: 1 }]],
    ['no object', [null]],
    ['nothing', ''],
  ])('an answer that is no ranking (%s): 500 with a code, stamped', async (_title, answer) => {
    engine.behave({ route: PATH, body: answer });
    const got = await rerank();
    expect(got.status).toBe(500);
    expect(got.headers['x-smg-error-code']).toBe('rerank_response_build_failed');
    expect(got.headers['x-smg-routed-worker-id']).toBe(engine.url);
  });

  it('[G37] an answer over the limit is 502, one below is not', async () => {
    const of = (size: number) => [{ score: 1, index: 0, document: 'x'.repeat(size) }];
    engine.behave({ route: PATH, body: of(64 * 1024) });
    const got = await rerank();
    expect([got.status, got.headers['x-smg-error-code'], got.json['error'].code]).toEqual([
      502,
      'upstream_response_too_large',
      'upstream_response_too_large',
    ]);
    engine.behave({ route: PATH, body: of(1024) });
    expect((await rerank()).status).toBe(200);
  });

  it('[G38] /v1/rerank needs no model and knows no options', async () => {
    const got = await send(`${gateway.url}/v1/rerank`, {
      body: { query: 'q', documents: ['a', 'b'], model: 'nobody', top_k: 1 },
    });
    expect(got.status).toBe(200);
    expect([got.json['model'], got.json['results'].length]).toEqual(['unknown', 2]);
  });

  it('a body that asks for a stream gets a ranking', async () => {
    expect((await rerank({ stream: true })).json['object']).toBe('rerank');
  });
});

describe.each<EngineKind>(['sglang', 'vllm'])('rankings of %s', (kind) => {
  it('[G67] have one shape, and the canonical model under an alias', async () => {
    const engine = await new MockEngine({ kind, model: 'ranker' }).start();
    const gateway = await startGateway();
    try {
      await workersOf(gateway.url).added({
        url: engine.url,
        models: [{ id: 'ranker', aliases: ['r'] }],
      });
      const got = await send(`${gateway.url}/rerank`, { body: body({ model: 'r', top_k: 2 }) });
      expect(engine.requestsTo(PATH).at(-1)?.jsonObject()?.['model']).toBe('ranker');
      expect(got.json['model']).toBe('ranker');
      const results = got.json['results'] as Record<string, unknown>[];
      expect(results).toHaveLength(2);
      for (const { score, document, index } of results) {
        expect([typeof score, typeof document, typeof index]).toEqual([
          'number',
          'string',
          'number',
        ]);
      }
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
