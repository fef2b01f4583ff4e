import { request } from 'node:http';
import { MockEngine } from '@smg/testing';
import { startGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { generateAt, RlClient, startAll, startRl, type RlGateway } from './support/rl';

const VERBS = { rl: { routerVerbs: true } } as const;

/** Boots with the verbs on, in front of engines of one kind. */
async function startVerbs(...engines: MockEngine[]): Promise<RlGateway> {
  return startRl(VERBS, { engines });
}

describe('verbs of SGLang at the root', () => {
  const one = new MockEngine();
  const two = new MockEngine();
  let stop: () => Promise<void>;
  let gateway: RlGateway;
  const behaviours: (() => void)[] = [];

  const call = (path: string, body: unknown = {}, method = 'POST'): Promise<Answer> =>
    send(`${gateway.url}/${path}`, { method, ...(method === 'POST' ? { body } : {}) });
  const controls = async (): Promise<string[]> =>
    (await gateway.rl.rows()).map(({ control }) => control);

  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startVerbs(one, two);
  });
  afterEach(async () => {
    for (const end of behaviours.splice(0)) end();
    await gateway.rl.ask('/state?selector=engine%3Dsglang', { body: { control: 'active' } });
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('go to every engine, are observed, and answer with the report of /v1/rl', async () => {
    const paused = await call('pause_generation', { mode: 'retract' });
    expect(paused.status).toBe(200);
    expect(paused.json).toMatchObject({ success: true, total: 2, succeeded: 2, failed: [] });
    expect(Object.keys(paused.json['results'])).toHaveLength(2);
    expect(await controls()).toEqual(['paused', 'paused']);
    expect((await generateAt(gateway)).status).toBe(503);
    for (const engine of [one, two]) {
      expect(engine.requests.at(-1)?.body.toString()).toBe('{"mode":"retract"}');
    }
    expect((await call('continue_generation')).status).toBe(200);
    expect(await controls()).toEqual(['active', 'active']);
    expect((await generateAt(gateway)).status).toBe(200);
  });

  it('record the version of a refit', async () => {
    const body = { model_path: '/w', weight_version: '7', flush_cache: false };
    expect((await call('update_weights_from_disk', body)).status).toBe(200);
    expect((await gateway.rl.rows()).map((row) => row['weight_version'])).toEqual(['7', '7']);
    expect((await generateAt(gateway)).headers['x-smg-weight-version']).toBe('7');
  });

  it('release and resume by either method', async () => {
    expect((await call('release_memory_occupation', {}, 'GET')).status).toBe(200);
    expect(await controls()).toEqual(['asleep', 'asleep']);
    expect((await call('resume_memory_occupation')).status).toBe(200);
    expect(await controls()).toEqual(['active', 'active']);
  });

  it('a call that one engine did not do does not look done', async () => {
    behaviours.push(
      one.behave({ route: '/update_weights_from_disk', status: 400, body: { success: false } }),
    );
    const { status, json } = await call('update_weights_from_disk', { weight_version: '9' });
    expect(status).toBe(400);
    expect(json).toMatchObject({ success: false, total: 2, succeeded: 1 });
    expect(json['failed']).toMatchObject([{ error: 'upstream_error', status: 400 }]);
    expect((await gateway.rl.row(two))['weight_version']).toBe('9');
    expect((await gateway.rl.row(one))['weight_version']).not.toBe('9');
  });

  it('nor one that an engine refused with 200', async () => {
    behaviours.push(
      two.behave({ route: '/pause_generation', status: 200, body: { success: false } }),
    );
    const { status, json } = await call('pause_generation');
    expect([status, json['success']]).toEqual([502, false]);
    expect((await gateway.rl.row(one))['control']).toBe('paused');
    expect((await gateway.rl.row(two))['control']).toBe('active');
  });

  it('a route no engine has is 404, as it would be at an engine', async () => {
    const { status, json } = await call('init_broadcaster');
    expect([status, json['failed'].length]).toEqual([404, 2]);
  });

  it('take large bodies as they are', async () => {
    const body = Buffer.from(`{"weight_version":"11","pad":"${'x'.repeat(20 * 1024 * 1024)}"}`);
    const { status } = await send(`${gateway.url}/update_weights_from_tensor`, { body });
    expect(status).toBe(200);
    expect((await gateway.rl.row(one))['weight_version']).toBe('11');
  });

  it('another method is 405', async () => {
    const { status, headers } = await call('pause_generation', undefined, 'GET');
    expect([status, headers.allow]).toEqual([405, 'POST']);
  });

  it('are called off when the caller leaves: what was closed for them opens again', async () => {
    behaviours.push(one.behave({ route: '/pause_generation', delayMs: 10_000 }));
    const leaving = request(`${gateway.url}/pause_generation`, { method: 'POST' });
    leaving.on('error', () => undefined);
    leaving.end('{}');
    const control = async (): Promise<string> => (await gateway.rl.row(one))['control'];
    await until(
      'it is closed before the call is answered',
      async () => (await control()) === 'paused',
    );
    leaving.destroy();
    await until('it is open again', async () => (await control()) === 'active');
  });
});

describe('verbs of vLLM at the root', () => {
  const one = new MockEngine({ kind: 'vllm', dpSize: 2 });
  const two = new MockEngine({ kind: 'vllm', dpSize: 4 });
  let stop: () => Promise<void>;
  let gateway: RlGateway;
  const call = (path: string, method = 'POST', body?: unknown): Promise<Answer> =>
    send(`${gateway.url}/${path}`, { method, ...(body === undefined ? {} : { body }) });

  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startVerbs(one, two);
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('carry their query', async () => {
    expect((await call('pause?mode=keep&clear_cache=false')).status).toBe(200);
    expect(one.requests.at(-1)?.path).toBe('/pause?mode=keep&clear_cache=false');
    expect((await call('is_paused', 'GET')).json).toMatchObject({ is_paused: true, total: 2 });
    await call('resume');
    expect((await call('is_paused', 'GET')).json['is_paused']).toBe(false);
  });

  it('sleep and wake', async () => {
    await call('sleep?level=2');
    expect((await gateway.rl.rows()).map(({ control }) => control)).toEqual(['asleep', 'asleep']);
    await call('wake_up?tags=weights&tags=kv_cache');
    expect((await gateway.rl.rows()).map(({ control }) => control)).toEqual(['active', 'active']);
  });

  it('the world is the sum of the engines’', async () => {
    const { json } = await call('get_world_size?include_dp=true', 'GET');
    expect(json).toMatchObject({ world_size: 6, success: true });
  });

  it('a refit in three steps publishes its version', async () => {
    for (const [path, body] of [
      ['start_weight_update', {}],
      ['update_weights', { update_info: {} }],
      ['finish_weight_update', { weight_version: '3' }],
    ] as const) {
      expect([path, (await call(path, 'POST', body)).status]).toEqual([path, 200]);
    }
    expect((await call('weight_info', 'GET')).json['weight_version']).toBe('3');
    expect((await gateway.rl.rows()).map((row) => row['weight_version'])).toEqual(['3', '3']);
  });

  it('collective_rpc and the prefix cache', async () => {
    expect((await call('collective_rpc', 'POST', { method: 'reload_weights' })).status).toBe(200);
    expect((await call('reset_prefix_cache')).status).toBe(200);
  });
});

it('without an engine: 503 in JSON', async () => {
  const gateway = await startRl(VERBS);
  try {
    const { status, json } = await send(`${gateway.url}/pause`, { method: 'POST' });
    expect([status, json['error'].code]).toEqual([503, 'no_workers']);
  } finally {
    await gateway.close();
  }
});

it('off, they are unknown paths; with RL on as well', async () => {
  for (const enabled of [true, false]) {
    const gateway = await startGateway({ rl: { enabled } });
    try {
      for (const path of [
        '/pause',
        '/sleep',
        '/update_weights_from_disk',
        '/v1/load_lora_adapter',
      ]) {
        const { status, body } = await send(`${gateway.url}${path}`, { method: 'POST', body: {} });
        expect([path, status, body.length]).toEqual([path, 404, 0]);
      }
    } finally {
      await gateway.close();
    }
  }
});

it('are guarded and audited like the control plane', async () => {
  const engine = new MockEngine();
  await engine.start();
  const gateway = await startGateway(
    {
      rl: { enabled: true, routerVerbs: true },
      auth: { controlPlaneApiKeys: [{ id: 'ops', name: 'ops', role: 'admin', key: 'operator' }] },
    },
    { engines: [engine] },
  );
  try {
    const ask = (key?: string): Promise<Answer> =>
      send(`${gateway.url}/release_memory_occupation`, {
        method: 'GET',
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      });
    expect((await ask()).status).toBe(401);
    expect(
      (await new RlClient(gateway.url, { authorization: 'Bearer operator' }).rows())[0]?.[
        'control'
      ],
    ).toBe('active');
    expect((await ask('operator')).status).toBe(200);
    await until('the action is recorded', () =>
      gateway.rawLogs.some(
        (line) => line.includes('/release_memory_occupation') && line.includes('"action"'),
      ),
    );
  } finally {
    await gateway.close();
    await engine.stop();
  }
});
