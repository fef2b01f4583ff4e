import { send } from './http-client';
import { MockEngine } from './mock-engine';
import { type MockEngineOptions } from './mock-engine.options';

describe('MockEngine as vLLM', () => {
  let engine: MockEngine;
  const start = async (options: MockEngineOptions = {}): Promise<void> => {
    engine = new MockEngine({ kind: 'vllm', ...options });
    await engine.start();
  };
  const post = (path: string, body?: unknown) => send(engine.url + path, 'POST', body);
  const get = async (path: string) => (await send(engine.url + path)).json();
  const complete = () => post('/v1/completions', { prompt: 'x' });
  const tokensMade = () => [...engine.state.running].map(({ tokens }) => tokens.length);

  afterEach(() => engine.stop());

  it('gives itself away as vLLM and has no SGLang routes', async () => {
    await start();
    expect((await get('/v1/models')).data[0].owned_by).toBe('vllm');
    expect(await get('/version')).toHaveProperty('version');
    expect((await send(`${engine.url}/server_info`)).status).toBe(404);
    expect((await post('/generate', { text: 'x' })).status).toBe(404);
    const body = (await complete()).json();
    expect(body).not.toHaveProperty('metadata');
    const ids = await post('/inference/v1/generate', { token_ids: [1, 2] });
    expect(ids.json().choices[0].token_ids).toHaveLength(8);
  });

  it('reports load in its metrics', async () => {
    await start({ tokens: 500, tokenLatencyMs: 5 });
    complete().catch(() => undefined);
    await engine.waitUntil(() => engine.state.running.size === 1);
    const { text } = await send(`${engine.url}/metrics`);
    expect(text).toContain('vllm:num_requests_running{engine="0",model_name="mock-model"} 1\n');
  });

  it.each(['keep', 'abort'])('pause mode=%s queues new requests until resume', async (mode) => {
    await start();
    expect((await post(`/pause?mode=${mode}`)).json()).toEqual({ status: 'paused' });
    expect(await get('/is_paused')).toEqual({ is_paused: true });
    const queued = complete();
    await engine.waitUntil(() => engine.state.running.size === 1);
    expect(tokensMade()).toEqual([0]);
    await post('/resume');
    expect((await queued).status).toBe(200);
    expect((await post('/pause?mode=nap')).status).toBe(400);
  });

  it('pause mode=wait lets the running end and holds the new', async () => {
    await start({ tokens: 5, tokenLatencyMs: 10 });
    const running = complete();
    await engine.waitUntil(() => (tokensMade()[0] ?? 0) > 0);
    const paused = post('/pause?mode=wait');
    await engine.waitUntil(() => engine.state.paused === 'wait');
    const late = complete();
    expect((await paused).status).toBe(200);
    expect((await running).status).toBe(200);
    await engine.waitUntil(() => engine.state.running.size === 1);
    expect(tokensMade()).toEqual([0]);
    await post('/resume');
    expect((await late).status).toBe(200);
  });

  it('hangs while asleep and answers after waking; a part of it is not enough', async () => {
    await start();
    await post('/sleep?level=2');
    expect(await get('/is_sleeping')).toEqual({ is_sleeping: true });
    let answered = false;
    const hanging = complete().then((got) => {
      answered = true;
      return got;
    });
    await post('/wake_up?tags=weights');
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([answered, await get('/is_sleeping')]).toEqual([false, { is_sleeping: true }]);
    await post('/wake_up?tags=weights&tags=kv_cache');
    expect((await hanging).status).toBe(200);
  });

  it('answers 503 while asleep when told so; level 0 is a pause', async () => {
    await start({ whenAsleep: 'error' });
    await post('/sleep');
    expect((await complete()).status).toBe(503);
    await post('/wake_up');
    await post('/sleep?level=0');
    expect([await get('/is_paused'), await get('/is_sleeping')]).toEqual([
      { is_paused: true },
      { is_sleeping: false },
    ]);
    expect((await post('/sleep?level=7')).status).toBe(400);
  });

  it('publishes a version at finish, not at update', async () => {
    await start();
    await post('/start_weight_update', {});
    await post('/update_weights', { update_info: { weight_version: '9' } });
    expect(await get('/weight_info')).toEqual({ weight_version: 'default' });
    await post('/finish_weight_update', { weight_version: '9' });
    expect(await get('/weight_info')).toEqual({ weight_version: '9' });
    expect((await post('/update_weight_version', { new_version: 10 })).json()).toHaveProperty(
      'success',
      true,
    );
  });

  it('answers the rest of the control routes', async () => {
    await start({ dpSize: 2 });
    expect((await post('/collective_rpc', {})).status).toBe(400);
    expect((await post('/collective_rpc', { method: 'reload_weights' })).json()).toEqual({
      results: [null, null],
    });
    expect(await get('/get_world_size?include_dp=true')).toEqual({ world_size: 2 });
    expect((await post('/abort_requests', {})).json()).toEqual({ status: 'ok', aborted: 0 });
    expect((await post('/reset_prefix_cache')).status).toBe(200);
  });

  it('tells ids and log probabilities to those who ask', async () => {
    await start({ tokens: 2 });
    const chat = (more: object) =>
      post('/v1/chat/completions', { messages: [{ role: 'user', content: 'a b c' }], ...more });
    const plain = (await chat({})).json();
    expect([plain.choices[0].logprobs, plain.prompt_token_ids]).toEqual([null, undefined]);
    const told = (await chat({ logprobs: true, return_token_ids: true })).json();
    const [{ token_ids: ids, logprobs }] = told.choices;
    expect(told.prompt_token_ids).toEqual([1, 2, 3]);
    expect(ids).toHaveLength(2);
    expect(logprobs.content.map(({ token }: { token: string }) => token)).toEqual(
      ids.map((id: number) => `token_id:${id}`),
    );
    const sampling_params = { logprobs: 0 };
    for (const path of ['/inference/v1/generate', '/skyrl/v1/generate']) {
      const [choice] = (await post(path, { token_ids: [1], sampling_params })).json().choices;
      expect(choice.logprobs.content).toHaveLength(2);
    }
  });

  it('renders, tokenizes, and loads adapters', async () => {
    await start();
    const messages = [{ role: 'user', content: 'a b' }];
    const rendered = await post('/v1/chat/completions/render', { messages });
    expect(rendered.json().token_ids).toEqual([1, 2]);
    expect((await post('/tokenize', { messages })).json()).toMatchObject({ tokens: [1, 2] });
    expect((await post('/tokenize', { prompt: 'a' })).json()).toMatchObject({ count: 1 });
    expect((await post('/detokenize', { tokens: [4, 5] })).json()).toEqual({ prompt: '<4><5>' });
    for (const path of ['/v1/chat/completions/render', '/tokenize', '/detokenize']) {
      expect((await post(path, {})).status).toBe(400);
    }
    expect((await post('/v1/load_lora_adapter', { lora_name: 'a' })).status).toBe(200);
    expect((await post('/v1/unload_lora_adapter', {})).status).toBe(400);
  });

  it('gives embeddings in the base64 that OpenAI clients ask for', async () => {
    await start();
    const floats = (await post('/v1/embeddings', { input: 'a' })).json().data[0].embedding;
    const packed = (await post('/v1/embeddings', { input: 'a', encoding_format: 'base64' })).json();
    const bytes = Buffer.from(packed.data[0].embedding, 'base64');
    expect(floats.map((_: number, at: number) => bytes.readFloatLE(at * 4))).toEqual(
      floats.map(Math.fround),
    );
  });
});
