import { send, sseData } from './http-client';
import { MockEngine } from './mock-engine';
import { type MockEngineOptions } from './mock-engine.options';

describe('MockEngine as SGLang', () => {
  let engine: MockEngine;
  const start = async (options: MockEngineOptions = {}): Promise<void> => {
    engine = new MockEngine(options);
    await engine.start();
  };
  const post = (path: string, body?: unknown) => send(engine.url + path, 'POST', body);
  const get = (path: string) => send(engine.url + path);

  afterEach(() => engine.stop());

  it('reports what discovery reads', async () => {
    await start({ labels: { role: 'policy' } });
    const info = (await get('/server_info')).json();
    expect(info).toMatchObject({
      model_path: 'mock-model',
      served_model_name: 'mock-model',
      tokenizer_path: 'mock-tokenizer-path',
      dp_size: 1,
      max_running_requests: 2048,
      context_length: 32768,
      port: engine.port,
      role: 'policy',
    });
    expect((await get('/get_server_info')).json()).toEqual(info);
    expect((await get('/get_model_info')).json()).toMatchObject({
      model_path: 'mock-model',
      is_generation: true,
      weight_version: 'default',
    });
    const models = (await get('/v1/models')).json();
    expect(models.data[0]).toMatchObject({ id: 'mock-model', owned_by: 'sglang' });
    expect((await get('/health')).status).toBe(200);
    expect((await get('/get_weight_version')).status).toBe(404);
    const wrong = await get('/generate');
    expect([wrong.status, wrong.headers['allow']]).toEqual([405, 'POST']);
  });

  it('answers /generate the same for the same prompt, and names its port', async () => {
    await start();
    const first = await post('/generate', { text: 'Hello' });
    const again = await post('/generate', { text: 'Hello' });
    const other = await post('/generate', { text: 'Bye' });
    const body = first.json();
    expect(first.headers['x-worker-id']).toBe(`worker-${engine.port}`);
    expect(body.text).not.toBe('');
    expect(again.json().text).toBe(body.text);
    expect(other.json().text).not.toBe(body.text);
    expect(body.meta_info).toMatchObject({
      finish_reason: { type: 'stop' },
      prompt_tokens: 1,
      completion_tokens: 8,
      weight_version: 'default',
      weight_versions: [{ version: 'default', start: 0, end: 8 }],
    });
  });

  it.each([
    [{ text: ['a', 'b'] }, 2],
    [{ input_ids: [[1], [2], [3]] }, 3],
    [{ text: 'a', sampling_params: { n: 2 } }, 2],
  ])('answers a batch %j with a list', async (body, length) => {
    await start();
    const list: { meta_info: { finish_reason: { type: string } } }[] = (
      await post('/generate', body)
    ).json();
    expect(list).toHaveLength(length);
    expect(list.every((one) => one.meta_info.finish_reason.type === 'stop')).toBe(true);
  });

  it('answers one sequence of ids with one object, and garbage with 400', async () => {
    await start();
    expect((await post('/generate', { input_ids: [1, 2] })).json()).toHaveProperty('text');
    for (const bad of ['{nope', '[]', {}, { text: 3 }]) {
      expect((await post('/generate', bad)).status).toBe(400);
    }
  });

  it('stops at max_new_tokens and echoes mock_meta_info', async () => {
    await start();
    const body = { text: 'x', sampling_params: { max_new_tokens: 3 } };
    expect((await post('/generate', body)).json().meta_info).toMatchObject({
      finish_reason: { type: 'length' },
      completion_tokens: 3,
    });
    const meta = { weight_versions: [{ version: '1' }, { version: '2' }] };
    const echoed = await post('/generate', { text: 'x', mock_meta_info: meta });
    expect(echoed.json().meta_info).toEqual(meta);
  });

  it('refuses a data-parallel rank it does not have', async () => {
    await start({ dpSize: 4 });
    expect((await post('/generate', { text: 'x', routed_dp_rank: 9 })).status).toBe(400);
    const ok = await post('/generate', { text: 'x', routed_dp_rank: 3 });
    expect(ok.json().meta_info.dp_rank).toBe(3);
  });

  it('streams cumulative text and ends with [DONE]', async () => {
    await start({ tokens: 3 });
    const got = await post('/generate', { text: 'Hello', stream: true });
    expect(got.headers['content-type']).toMatch(/^text\/event-stream/);
    const data = sseData(got.text);
    expect(data.at(-1)).toBe('[DONE]');
    const events = data.slice(0, -1).map((line) => JSON.parse(line));
    for (let at = 1; at < events.length; at += 1) {
      expect(events[at].text.startsWith(events[at - 1].text)).toBe(true);
    }
    expect(events[0].meta_info.finish_reason).toBeNull();
    expect(events.at(-1).meta_info.finish_reason.type).toBe('stop');
  });

  it('records two spans when weights change half way', async () => {
    await start({ tokens: 10, tokenLatencyMs: 5 });
    const answer = post('/generate', { text: 'x' });
    await engine.waitUntil(() => [...engine.state.running].some((one) => one.tokens.length >= 2));
    await post('/update_weights_from_disk', { model_path: '/m', weight_version: 2 });
    const meta = (await answer).json().meta_info;
    expect(meta.weight_version).toBe('2');
    expect(meta.weight_versions).toHaveLength(2);
    const [before, after] = meta.weight_versions;
    expect([before.version, before.start, after.version, after.end]).toEqual([
      'default',
      0,
      '2',
      10,
    ]);
    expect(before.end).toBe(after.start);
  });

  describe('control routes', () => {
    it.each(['/pause_generation', '/continue_generation', '/update_weights_from_tensor'])(
      '%s wants a body',
      async (path) => {
        await start();
        expect((await post(path)).status).toBe(400);
        expect((await post(path, {})).status).toBe(200);
      },
    );

    it('refuses an unknown pause mode and keeps generating', async () => {
      await start();
      expect((await post('/pause_generation', { mode: 'nap' })).status).toBe(400);
      expect((await post('/generate', { text: 'x' })).status).toBe(200);
    });

    it.each(['retract', 'in_place'])('pause %s holds what runs and what comes', async (mode) => {
      await start({ tokens: 4, tokenLatencyMs: 5 });
      const running = post('/generate', { text: 'x' });
      await engine.waitUntil(() => engine.state.running.size === 1);
      await post('/pause_generation', { mode });
      const queued = post('/generate', { text: 'y' });
      await engine.waitUntil(() => engine.state.running.size === 2);
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect(engine.state.running.size).toBe(2);
      await post('/continue_generation', {});
      for (const got of await Promise.all([running, queued])) {
        expect(got.json().meta_info.finish_reason.type).toBe('stop');
      }
    });

    it('pause abort ends what runs with finish reason abort', async () => {
      await start({ tokens: 500, tokenLatencyMs: 5 });
      const running = post('/generate', { text: 'x' });
      await engine.waitUntil(() => [...engine.state.running].some((one) => one.tokens.length > 0));
      await post('/pause_generation', {});
      const got = await running;
      expect(got.status).toBe(200);
      expect(got.json().meta_info.finish_reason.type).toBe('abort');
    });

    it('fails inference while any memory is released', async () => {
      await start();
      const status = async () => (await post('/generate', { text: 'x' })).status;
      expect((await post('/release_memory_occupation')).text).toBe('null');
      expect(await status()).toBe(500);
      await post('/resume_memory_occupation', { tags: ['weights'] });
      expect(await status()).toBe(500);
      await post('/resume_memory_occupation', { tags: [] });
      expect(await status()).toBe(200);
      expect((await post('/release_memory_occupation', { tags: ['brain'] })).status).toBe(400);
    });

    it('dies when memory is released under it, if told so, and comes back at its port', async () => {
      await start({ releaseWhenBusy: 'crash', tokens: 500, tokenLatencyMs: 5 });
      const running = post('/generate', { text: 'x' });
      await engine.waitUntil(() => engine.state.running.size === 1);
      const url = engine.url;
      const died = expect(running).rejects.toThrow();
      await expect(post('/release_memory_occupation')).rejects.toThrow();
      await died;
      await expect(get('/health')).rejects.toThrow(/ECONNREFUSED/);
      await engine.start();
      expect(engine.url).toBe(url);
      expect((await get('/health')).status).toBe(200);
    });

    it('publishes a version only from a call that carries one', async () => {
      await start();
      const version = async () => (await get('/model_info')).json().weight_version;
      await post('/update_weights_from_distributed', { names: [] });
      expect(await version()).toBe('default');
      await post('/update_weights_from_distributed', { weight_version: '41' });
      expect(await version()).toBe('41');
      expect((await post('/update_weight_version', {})).status).toBe(400);
      await post('/update_weight_version', { new_version: '42' });
      expect(await version()).toBe('42');
      expect(engine.state.versions).toEqual(['41', '42']);
    });

    it('does not flush its cache while requests run', async () => {
      await start({ tokens: 500, tokenLatencyMs: 5 });
      expect((await get('/flush_cache')).status).toBe(200);
      post('/generate', { text: 'x' }).catch(() => undefined);
      await engine.waitUntil(() => engine.state.running.size === 1);
      expect((await post('/flush_cache')).status).toBe(400);
      await post('/abort_request', { abort_all: true });
      await engine.waitUntil(() => engine.state.running.size === 0);
    });

    it('reports the loads a test makes up, of all ranks or of each', async () => {
      await start({ dpSize: 2 });
      engine.state.reportedLoads = { num_waiting_reqs: 9, token_usage: 0.5 };
      const all = (await get('/v1/loads')).json().loads;
      expect(all.map((it: { token_usage: number }) => it.token_usage)).toEqual([0.5, 0.5]);
      engine.state.reportedLoads = [{ num_waiting_reqs: 1 }, { num_waiting_reqs: 2 }];
      const { text } = await get('/metrics');
      expect(text).toContain('sglang:num_queue_reqs{dp_rank="0",model_name="mock-model"} 1\n');
      expect(text).toContain('sglang:num_queue_reqs{dp_rank="1",model_name="mock-model"} 2\n');
    });

    it('aborts by rid, by prefix and all, and shrugs at an unknown rid', async () => {
      await start({ tokens: 500, tokenLatencyMs: 5 });
      const rids = ['a-1', 'a-2', 'b-1', 'c-1'];
      const answers = rids.map((rid) => post('/generate', { text: 'x', rid }));
      await engine.waitUntil(() => engine.state.running.size === 4);
      const left = () => [...engine.state.running].map(({ rid }) => rid).sort();
      expect((await post('/abort_request', { rid: 'zzz' })).status).toBe(200);
      await post('/abort_request', { rid: 'c-1' });
      await engine.waitUntil(() => engine.state.running.size === 3);
      await post('/abort_request', { rid: 'a-', prefix: true });
      await engine.waitUntil(() => engine.state.running.size === 1);
      expect(left()).toEqual(['b-1']);
      const loads = (await get('/v1/loads?include=core')).json();
      expect([loads.num_reqs, loads.loads[0].num_running_reqs]).toEqual([1, 1]);
      await post('/abort_request', { abort_all: true });
      for (const got of await Promise.all(answers)) {
        expect(got.json().meta_info.finish_reason.type).toBe('abort');
      }
    });
  });
});
