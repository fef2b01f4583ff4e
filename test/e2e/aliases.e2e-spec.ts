import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { workersOf } from '../support/workers';

const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'x' }] });

describe('model aliases', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let other: MockEngine;
  beforeAll(async () => {
    engine = await new MockEngine({ model: 'GLM-5.2' }).start();
    other = await new MockEngine({ model: 'other' }).start();
    gateway = await startGateway(
      { workers: { modelAliases: [{ alias: 'GLM-5.2-Fast', canonical: 'GLM-5.2' }] } },
      { engines: [other] },
    );
    const workers = workersOf(gateway.url);
    await workers.added({
      url: engine.url,
      models: [{ id: 'GLM-5.2', aliases: ['GLM-5.2-Coding'] }],
    });
  });
  afterAll(async () => {
    await Promise.all([engine.stop(), other.stop()]);
    await gateway.close();
  });

  it.each(['GLM-5.2-Coding', 'GLM-5.2-Fast'])(
    '[G66] chat with the alias %s reaches the worker under its own name',
    async (alias) => {
      const got = await send(`${gateway.url}/v1/chat/completions`, { body: chat(alias) });
      expect(got.status).toBe(200);
      expect(engine.requests.at(-1)?.jsonObject()?.['model']).toBe('GLM-5.2');
    },
  );

  it('[G66] with the id the body is the very same', async () => {
    const body = JSON.stringify(chat('GLM-5.2'));
    expect((await send(`${gateway.url}/v1/chat/completions`, { body })).status).toBe(200);
    expect(engine.requests.at(-1)?.body.toString()).toBe(body);
  });

  it('[G66] an unknown name, or the id in another case, is 404 and reaches nobody', async () => {
    const before = [engine, other].map((it) => it.counters.received);
    for (const name of ['GLM-5.2-Nonexistent', 'glm-5.2', 'GLM-5.2-coding', ' GLM-5.2']) {
      const got = await send(`${gateway.url}/v1/chat/completions`, { body: chat(name) });
      expect([name, got.status, got.json['error'].code]).toEqual([name, 404, 'model_not_found']);
      expect(got.json['error'].message).toContain(name);
    }
    expect([engine, other].map((it) => it.counters.received)).toEqual(before);
  });

  it('only the name changes: every other byte stays, big integers and odd spacing too', async () => {
    const raw = (model: string): string =>
      `{ "messages" : [{"role":"user","content":"\\u6c49 \\"model\\": \\"GLM-5.2-Coding\\""}],\r\n\t"model" :  "${model}" , "seed":9007199254740993,"t":1.0e0, "model2":"GLM-5.2-Coding" }`;
    const got = await send(`${gateway.url}/v1/chat/completions`, { body: raw('GLM-5.2-Coding') });
    expect(got.status).toBe(200);
    const sent = engine.requests.at(-1);
    expect(sent?.body.toString()).toBe(raw('GLM-5.2'));
    expect(sent?.values('content-length')).toEqual([String(Buffer.byteLength(raw('GLM-5.2')))]);
    expect(sent?.values('transfer-encoding')).toEqual([]);
  });

  it('works on every route that names a model', async () => {
    const bodies: [string, object][] = [
      ['/v1/completions', { prompt: 'x' }],
      ['/v1/messages', { max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }],
      ['/v1/responses', { input: 'x' }],
      ['/v1/embeddings', { input: 'x' }],
      ['/v1/classify', { input: 'x' }],
      ['/generate', { text: 'x' }],
    ];
    for (const [path, body] of bodies) {
      const got = await send(gateway.url + path, { body: { ...body, model: 'GLM-5.2-Coding' } });
      expect([path, got.status]).toEqual([path, 200]);
      const sent = engine.requestsTo(path).at(-1)?.jsonObject();
      expect(sent).toEqual({ ...body, model: 'GLM-5.2' });
    }
  });

  it('[G67] rerank with the alias: the worker gets the id, and answers with it', async () => {
    const vllm = await new MockEngine({ kind: 'vllm', model: 'ranker' }).start();
    const workers = workersOf(gateway.url);
    const health = { drain_settle_secs: 0 };
    const id = await workers.added({
      url: vllm.url,
      health,
      models: [{ id: 'ranker', aliases: ['r'] }],
    });
    try {
      const body = { model: 'r', query: 'q', documents: ['a', 'b'] };
      const got = await send(`${gateway.url}/rerank`, { body });
      expect(got.status).toBe(200);
      expect(vllm.requestsTo('/v1/rerank').at(-1)?.jsonObject()).toEqual({
        ...body,
        model: 'ranker',
      });
      expect(got.json['model']).toBe('ranker');
    } finally {
      await workers.remove(id);
      await workers.untilCount(2);
      await vllm.stop();
    }
  });

  it('aliases are not listed as models and are no metric label', async () => {
    const models = (await send(`${gateway.url}/v1/models`)).json['data'];
    expect(models.map(({ id }: { id: string }) => id).sort()).toEqual(['GLM-5.2', 'other']);
    const page = await gateway.metrics();
    expect(page).toContain('model="GLM-5.2"');
    expect(page).not.toContain('GLM-5.2-Coding');
    expect(page).not.toContain('Nonexistent');
  });

  it('the first claimant keeps an alias; when it goes, the next takes over', async () => {
    const workers = workersOf(gateway.url);
    const [one, two] = [await new MockEngine().start(), await new MockEngine().start()];
    try {
      const health = { drain_settle_secs: 0 };
      const id = await workers.added({
        url: one.url,
        health,
        models: [{ id: 'm1', aliases: ['shared'] }],
      });
      await workers.added({
        url: two.url,
        health,
        models: [{ id: 'm2', aliases: ['shared', 'm1'] }],
      });
      await send(`${gateway.url}/v1/chat/completions`, { body: chat('shared') });
      expect(one.requests.at(-1)?.jsonObject()?.['model']).toBe('m1');
      // An alias that equals a registered id is shadowed by the id.
      await send(`${gateway.url}/v1/chat/completions`, { body: chat('m1') });
      expect(one.counters.of('/v1/chat/completions')).toBe(2);
      await workers.remove(id);
      await workers.untilCount(3);
      await send(`${gateway.url}/v1/chat/completions`, { body: chat('shared') });
      expect(two.requests.at(-1)?.jsonObject()?.['model']).toBe('m2');
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });
});
