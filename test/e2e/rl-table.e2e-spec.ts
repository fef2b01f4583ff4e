import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { sample } from './support/scrape';
import { startAll, startRl, type RlGateway } from './support/rl';

describe('what the table observes', () => {
  const sglang = new MockEngine();
  const vllm = new MockEngine({ kind: 'vllm' });
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(sglang, vllm);
    gateway = await startRl({ health: { drainSettleSecs: 0 } }, { engines: [sglang, vllm] });
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });
  beforeEach(async () => {
    sglang.behaveNormally();
    vllm.behaveNormally();
    for (const engine of [sglang, vllm]) await gateway.rl.setControl(engine, 'active');
  });
  const control = async (engine: MockEngine): Promise<unknown> =>
    (await gateway.rl.row(engine))['control'];
  const version = async (engine: MockEngine): Promise<unknown[]> => {
    const row = await gateway.rl.row(engine);
    return [row['weight_version'], row['version_source']];
  };

  it.each([
    ['pause_generation', {}, 'paused'],
    ['release_memory_occupation', {}, 'asleep'],
    ['release_memory_occupation', '', 'asleep'],
  ])('[RL75] %s with %j closes the engine', async (path, body, state) => {
    // The mock wants a body where SGLang does; the gateway does not.
    sglang.behave({ route: `/${path}`, body: { success: true } });
    await gateway.rl.call(sglang, path, { body });
    expect(await control(sglang)).toBe(state);
  });

  it.each([
    ['pause_generation', 'continue_generation'],
    ['release_memory_occupation', 'resume_memory_occupation'],
  ])('[RL75] %s, then %s opens it again', async (close, open) => {
    await gateway.rl.call(sglang, close);
    await gateway.rl.call(sglang, open);
    expect(await control(sglang)).toBe('active');
  });

  it.each([
    ['pause', 'paused', 'resume'],
    ['pause?mode=keep', 'paused', 'resume'],
    ['sleep', 'asleep', 'wake_up'],
    ['sleep?level=2', 'asleep', 'wake_up'],
    ['sleep?level=0', 'paused', 'resume'],
  ])('[RL75] vLLM: %s means %s until %s', async (close, state, open) => {
    await gateway.rl.call(vllm, close, { body: undefined });
    expect(await control(vllm)).toBe(state);
    await gateway.rl.call(vllm, open, { body: undefined });
    expect(await control(vllm)).toBe('active');
  });

  it.each(['flush_cache', 'server_info', 'health', 'v1/pause'])(
    '[RL75] %s changes nothing',
    async (path) => {
      await gateway.rl.setVersion(sglang, 'v');
      await gateway.rl.call(sglang, path, { method: 'GET', body: undefined });
      expect(await gateway.rl.row(sglang)).toMatchObject({
        control: 'active',
        weight_version: 'v',
      });
    },
  );

  it.each([
    'update_weights_from_disk',
    'update_weights_from_tensor',
    'update_weights_from_distributed',
  ])('[RL74] %s records the version when the engine agreed, and nothing when not', async (path) => {
    await gateway.rl.setVersion(sglang, 'before');
    sglang.behave({ route: `/${path}`, status: 500, times: 1 });
    await gateway.rl.call(sglang, path, { body: { weight_version: '42' } });
    expect(await version(sglang)).toEqual(['before', 'api']);
    await gateway.rl.call(sglang, path, { body: { weight_version: '42' } });
    expect(await version(sglang)).toEqual(['42', 'passthrough']);
  });

  it.each([
    ['{"weight_version": 7}', '7'],
    ['{"weight_version": 7.0}', '7.0'],
    ['{"weight_version": 18446744073709551615}', '18446744073709551615'],
    ['{"weight_version": " step-3 "}', 'step-3'],
    ['{"weight_version": true}', 'before'],
    ['{"weight_version": [1]}', 'before'],
    ['{"weight_version": {"a": 1}}', 'before'],
    ['{"weight_version": null}', 'before'],
    ['{"weight_version": " "}', 'before'],
    [`{"weight_version": "${'x'.repeat(129)}"}`, 'before'],
    ['{"weight_version": "a\\u0001"}', 'before'],
    ['{"weight_version": "a b"}', 'before'],
    ['{"new_version": "1"}', 'before'],
    ['{}', 'before'],
  ])('[RL76] refit body %s leaves version %s', async (body, expected) => {
    sglang.behave({ route: '/update_weights_from_disk', body: { success: true } });
    await gateway.rl.setVersion(sglang, 'before');
    await gateway.rl.call(sglang, 'update_weights_from_disk', { body });
    expect((await version(sglang))[0]).toBe(expected);
  });

  it('[RL76] a version that cannot be kept is warned of, without its value', async () => {
    sglang.behave({ route: '/update_weight_version', body: { success: true } });
    const from = gateway.logs.length;
    await gateway.rl.call(sglang, 'update_weight_version', { body: { new_version: 'sec ret' } });
    await gateway.rl.call(sglang, 'update_weight_version', { body: { new_version: [1] } });
    const warned = gateway.logs.slice(from).filter(({ level }) => level === 'warn');
    expect(warned).toMatchObject([
      { route: 'update_weight_version', reason: 'not_printable_ascii', target: 'smg_rl' },
      { route: 'update_weight_version', reason: 'not_a_string_or_number', kind: 'array' },
    ]);
    expect(JSON.stringify(warned)).not.toContain('sec ret');
  });

  it('[RL77] a fan-out records every engine that agreed', async () => {
    await gateway.rl.setFleetVersion('1', 'model=mock-model');
    const got = await gateway.rl.fanout('update_weight_version', 'model=mock-model', {
      body: { new_version: '5' },
    });
    expect(got.status).toBe(200);
    expect(await version(sglang)).toEqual(['5', 'passthrough']);
    expect(await version(vllm)).toEqual(['5', 'passthrough']);
  });

  it.each([{ success: false }, { status: 'error' }])(
    '[RL78] decision 10: 200 with %j is no agreement',
    async (answer) => {
      await gateway.rl.setVersion(sglang, 'before');
      sglang.behave({ body: answer });
      const got = await gateway.rl.call(sglang, 'update_weights_from_disk', {
        body: { weight_version: '99' },
      });
      expect([got.status, got.json['body']]).toEqual([200, answer]);
      await gateway.rl.call(sglang, 'pause_generation');
      expect(await gateway.rl.row(sglang)).toMatchObject({
        weight_version: 'before',
        control: 'active',
      });
    },
  );

  describe('decision 11: pause and sleep are two facts', () => {
    it('waking a paused engine leaves it paused; continuing a sleeping one leaves it asleep', async () => {
      await gateway.rl.call(sglang, 'pause_generation');
      await gateway.rl.call(sglang, 'release_memory_occupation');
      expect(await control(sglang)).toBe('asleep');
      await gateway.rl.call(sglang, 'continue_generation');
      expect(await control(sglang)).toBe('asleep');
      await gateway.rl.call(sglang, 'pause_generation');
      await gateway.rl.call(sglang, 'resume_memory_occupation');
      expect(await control(sglang)).toBe('paused');
      await gateway.rl.call(sglang, 'continue_generation');
      expect(await control(sglang)).toBe('active');
    });

    it('a partial resume leaves it asleep until all is back', async () => {
      await gateway.rl.call(sglang, 'release_memory_occupation');
      for (const [tags, state] of [
        [['weights'], 'asleep'],
        [['kv_cache'], 'asleep'],
        [['cuda_graph'], 'active'],
      ] as const) {
        await gateway.rl.call(sglang, 'resume_memory_occupation', { body: { tags } });
        expect(await control(sglang)).toBe(state);
      }
      await gateway.rl.call(vllm, 'sleep?level=1', { body: undefined });
      await gateway.rl.call(vllm, 'wake_up?tags=weights', { body: undefined });
      expect(await control(vllm)).toBe('asleep');
      await gateway.rl.call(vllm, 'wake_up?tags=kv_cache', { body: undefined });
    });

    it('closing comes first: closed while the call is under way, back as it was when it fails', async () => {
      sglang.behave({ route: '/pause_generation', delayMs: 400, status: 500, times: 1 });
      const call = gateway.rl.call(sglang, 'pause_generation');
      await until('it is closed', async () => (await control(sglang)) === 'paused');
      await call;
      expect(await control(sglang)).toBe('active');
    });

    it('opening waits for the answer', async () => {
      await gateway.rl.call(sglang, 'pause_generation');
      sglang.behave({ route: '/continue_generation', delayMs: 150, times: 1 });
      const call = gateway.rl.call(sglang, 'continue_generation');
      await sglang.waitUntil(
        () => sglang.requestsTo('/continue_generation').at(-1)?.status === undefined,
      );
      expect(await control(sglang)).toBe('paused');
      await call;
      expect(await control(sglang)).toBe('active');
    });

    it('a write sets both facts', async () => {
      await gateway.rl.call(sglang, 'release_memory_occupation');
      await gateway.rl.setControl(sglang, 'paused');
      await gateway.rl.call(sglang, 'continue_generation');
      expect(await control(sglang)).toBe('active');
    });
  });

  it('decision 12: finish_weight_update publishes the version its body carries', async () => {
    await gateway.rl.call(vllm, 'finish_weight_update', { body: { weight_version: '77' } });
    expect(await version(vllm)).toEqual(['77', 'passthrough']);
  });

  it('decision 16: a refit that carries no version keeps the recorded one', async () => {
    await gateway.rl.setVersion(sglang, '3');
    await gateway.rl.call(sglang, 'update_weights_from_disk', { body: { model_path: '/x' } });
    expect(await version(sglang)).toEqual(['3', 'api']);
  });
});

describe('what registrations do to the table', () => {
  let gateway: RlGateway;
  let engine: MockEngine;
  beforeEach(async () => {
    engine = await new MockEngine().start();
  });
  beforeAll(async () => {
    gateway = await startRl({ health: { drainSettleSecs: 0 } });
  });
  afterEach(async () => {
    const { workers } = await workersOf(gateway.url).list();
    if (workers.some(({ url }) => url === engine.url)) await remove();
    await engine.stop();
  });
  afterAll(() => gateway.close());
  const register = (labels: Record<string, string> = {}): Promise<string> =>
    workersOf(gateway.url).added({ url: engine.url, labels });
  const remove = async (): Promise<void> => {
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(engine.url)).id);
    await until('it is gone', async () =>
      (await workers.list()).workers.every(({ url }) => url !== engine.url),
    );
  };
  const put = async (labels: Record<string, string>): Promise<void> => {
    const { id } = await workersOf(gateway.url).byUrl(engine.url);
    const got = await send(`${gateway.url}/workers/${id}`, {
      method: 'PUT',
      body: { url: engine.url, labels },
    });
    expect(got.status).toBe(202);
    await until('the labels are there', async () => {
      const row = await gateway.rl.row(engine);
      return Object.entries(labels).every(([name, value]) => row['labels'][name] === value);
    });
  };

  it('[RL79] [RL69] the label seeds; removal drops the entry', async () => {
    await register({ weight_version: '5' });
    expect(await gateway.rl.row(engine)).toMatchObject({
      weight_version: '5',
      version_source: 'registration',
    });
    // Decision 14: the gauge is set at seeding, and leaves with the engine.
    const worker = { worker: engine.url };
    expect(sample(await gateway.metrics(), 'smg_rl_worker_weight_version', worker)).toBe(5);
    await gateway.rl.setControl(engine, 'paused');
    expect(sample(await gateway.metrics(), 'smg_rl_worker_control_state', worker)).toBe(1);
    await remove();
    expect(await gateway.metrics()).not.toContain(engine.url);
    await register();
    expect(await gateway.rl.row(engine)).toMatchObject({ weight_version: null, control: 'active' });
  });

  it('[RL81] [RL71] a replacement with the same label keeps what was written, a new label does not', async () => {
    await register({ weight_version: '5' });
    await gateway.rl.setVersion(engine, '8');
    await gateway.rl.setControl(engine, 'paused');
    await put({ weight_version: '5', color: 'blue' });
    expect(await gateway.rl.row(engine)).toMatchObject({ weight_version: '8', control: 'paused' });
    await put({ weight_version: '6' });
    await until('the label counts', async () => {
      const row = await gateway.rl.row(engine);
      return row['weight_version'] === '6' && row['version_source'] === 'registration';
    });
    expect(await gateway.rl.row(engine)).toMatchObject({ control: 'paused' });
  });

  it('[RL82] removed and registered again: active, with the version of its label', async () => {
    await register({ weight_version: '5' });
    await gateway.rl.setVersion(engine, '8');
    await gateway.rl.setControl(engine, 'asleep');
    await remove();
    await register({ weight_version: '5' });
    expect(await gateway.rl.row(engine)).toMatchObject({ weight_version: '5', control: 'active' });
  });

  it('[RL73] a paused engine that leaves closes nobody else', async () => {
    await register();
    await gateway.rl.setControl(engine, 'paused');
    const other = await new MockEngine().start();
    await workersOf(gateway.url).added({ url: other.url });
    await remove();
    expect((await send(`${gateway.url}/generate`, { body: { text: 'x' } })).status).toBe(200);
    await workersOf(gateway.url).remove(await gateway.rl.id(other));
    await other.stop();
  });

  it('decision 13: a label that is no version means unversioned, with a warning', async () => {
    await register({ weight_version: 'two words' });
    expect(await gateway.rl.row(engine)).toMatchObject({
      weight_version: null,
      version_source: null,
    });
    const warned = gateway.logs.filter(
      ({ level, worker }) => level === 'warn' && worker === engine.url,
    );
    expect(warned).toMatchObject([{ reason: 'not_printable_ascii' }]);
  });
});
