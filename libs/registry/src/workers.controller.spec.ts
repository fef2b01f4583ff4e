import { bootRegistry, INFO, type Rig } from '../test/rig';
import { type RegistryOptions } from './core/registry-options';
import { WorkerCommands } from './worker.commands';

const E1 = 'http://e1:8000';

let rig: Rig;

const boot = async (options?: Partial<RegistryOptions>): Promise<Rig> =>
  (rig = await bootRegistry(options));

afterEach(async () => {
  await rig.close();
  // Nothing may be left ticking.
  expect(rig.time.pending).toBe(0);
});

describe('POST /workers', () => {
  it('accepts, shows the reserved id as pending, then ready with what the engine said', async () => {
    const { call, caller, flush } = await boot();
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    caller.on('/health', () => held.then(() => ({ status: 200 })));
    const posted = await call('POST', '/workers', { url: `${E1}/`, labels: { version: 'mine' } });
    const id = posted.json.worker_id;
    expect(posted).toMatchObject({
      status: 202,
      json: {
        status: 'accepted',
        url: E1,
        location: `/workers/${id}`,
        message: 'Worker addition queued for background processing',
      },
      headers: { location: `/workers/${id}` },
    });
    expect(id[14]).toBe('7');
    expect((await call('GET', `/workers/${id}`)).json).toMatchObject({
      id,
      url: E1,
      status: 'pending',
      is_healthy: false,
      job_status: { job_type: 'AddWorker', worker_url: E1, status: 'processing' },
    });
    answer();
    await flush();
    const { json } = await call('GET', `/workers/${id}`);
    expect(json).toEqual({
      id,
      model_id: 'm',
      url: E1,
      models: [{ id: 'm', model_type: ['chat'], context_length: 4096 }],
      worker_type: 'regular',
      connection_mode: 'http',
      runtime_type: 'sglang',
      labels: { served_model_name: 'm', version: 'mine' },
      kv_role: 'kv_producer',
      priority: 50,
      cost: 1,
      max_connection_attempts: 20,
      is_healthy: true,
      status: 'ready',
      load: 0,
    });
  });

  it('tells listeners of a worker before it can be routed to', async () => {
    const { add, events } = await boot();
    await add({ url: E1 });
    expect(events.map((event) => event.kind)).toEqual(['registered', 'status_changed']);
  });

  it.each([
    [{ url: 'ftp://x' }, 400],
    [{ url: 'grpc://x:1' }, 400],
    [{ url: 'http://h:1@9', dp_size: 4 }, 400],
    [{ url: E1, runtime_type: 'nonesuch' }, 400],
  ])('refuses %j with %i', async (spec, status) => {
    const { call } = await boot();
    const answer = await call('POST', '/workers', spec);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error: expect.any(String), code: 'BAD_REQUEST' });
  });

  it.each([
    [{}],
    [{ url: 5 }],
    [[]],
    [{ url: E1, priority: 'high', api_key: 'canary-key' }],
    [{ url: E1, labels: { a: 1 } }],
    [{ url: E1, bootstrap_port: 70_000 }],
    [{ url: E1, models: [{ display_name: 'x' }] }],
    [{ url: E1, health: { timeout_secs: -1 } }],
    [{ url: E1, worker_type: 'boss' }],
  ])('answers 422 in plain text to %j', async (body) => {
    const { call } = await boot();
    const answer = await call('POST', '/workers', body);
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toMatch('text/plain');
    expect(answer.text).not.toContain('canary-key');
  });

  it('ignores unknown members and nulls', async () => {
    const { call } = await boot();
    expect(
      (await call('POST', '/workers', { url: E1, future: 1, priority: null, labels: null })).status,
    ).toBe(202);
  });

  it('answers 409 to the same engine, registered or under way, and counts it once', async () => {
    const { call, flush } = await boot();
    const first = await call('POST', '/workers', { url: E1 });
    const early = await call('POST', '/workers', { url: 'http://E1:8000/' });
    await flush();
    const late = await call('POST', '/workers', { url: E1 });
    for (const { status, json } of [early, late]) {
      expect({ status, code: json.code }).toEqual({ status: 409, code: 'WORKER_ALREADY_EXISTS' });
      expect(json.error).toContain(first.json.worker_id);
      expect(json.error).toContain(E1);
    }
    expect((await call('GET', '/workers')).json.total).toBe(1);
  });

  it('shows why a registration failed, frees the id after five minutes, and may be tried again', async () => {
    const { call, caller, flush, time } = await boot({ startupTimeoutSecs: 10 });
    caller.on('/health', { status: 503 });
    const { json } = await call('POST', '/workers', { url: E1, api_key: 'canary-key' });
    await flush();
    time.advance(9000);
    await flush();
    const failed = await call('GET', `/workers/${json.worker_id}`);
    expect(failed.json).toMatchObject({ status: 'pending', job_status: { status: 'failed' } });
    expect(failed.json.job_status.message).toContain('503');
    caller.on('/health', { status: 200 });
    const again = await call('POST', '/workers', { url: 'http://e2:1' });
    await flush();
    time.advance(360_000);
    expect((await call('GET', `/workers/${json.worker_id}`)).status).toBe(404);
    expect((await call('GET', `/workers/${again.json.worker_id}`)).json.status).toBe('ready');
  });

  it('retries an engine that is not up yet', async () => {
    const { add, call, caller, flush, time } = await boot();
    caller.on('/health', { status: 503 });
    const id = await add({ url: E1 });
    caller.on('/health', { status: 200 });
    time.advance(30_000);
    await flush();
    expect((await call('GET', `/workers/${id}`)).json.status).toBe('ready');
  });

  it('answers 500 when the queue is full', async () => {
    const { call, caller } = await boot({ jobQueueCapacity: 1, jobQueueConcurrency: 1 });
    caller.on('/health', () => new Promise(() => undefined));
    await call('POST', '/workers', { url: 'http://a:1' });
    await call('POST', '/workers', { url: 'http://b:1' });
    const refused = await call('POST', '/workers', { url: 'http://c:1' });
    expect(refused).toMatchObject({ status: 500, json: { code: 'INTERNAL_SERVER_ERROR' } });
  });

  it('sends requests of a rank to the base URL', async () => {
    const { add, call, caller } = await boot();
    const id = await add({ url: 'http://[::1]:8000@2' });
    expect((await call('GET', `/workers/${id}`)).json).toMatchObject({
      url: 'http://[::1]:8000@2',
      dp_rank: 2,
      dp_base_url: 'http://[::1]:8000',
    });
    expect(new Set(caller.calls.map((it) => it.baseUrl))).toEqual(new Set(['http://[::1]:8000']));
  });

  it('makes a worker of every rank with dp-aware, and probes their engine once', async () => {
    const { add, call, caller, registry, flush } = await boot({ dpAware: true });
    caller.on('/server_info', { body: { ...INFO, dp_size: '3' } });
    const id = await add({ url: E1 });
    expect(registry.all().map((it) => it.url)).toEqual([`${E1}@0`, `${E1}@1`, `${E1}@2`]);
    expect(registry.byId(id)?.dpRank).toBe(0);
    expect((await call('POST', '/workers', { url: E1 })).status).toBe(409);
    expect((await call('PUT', `/workers/${id}`, { url: `${E1}@0` })).status).toBe(400);
    expect(caller.calls.filter((it) => it.path === '/health')).toHaveLength(2);
    await call('DELETE', `/workers/${registry.all()[1]?.id}`);
    rig.time.advance(5000);
    await flush();
    expect(registry.all().map((it) => it.dpRank)).toEqual([0, 2]);
  });
});

describe('GET /workers', () => {
  it('filters by model, alias and wildcard, and counts roles', async () => {
    const { add, call } = await boot();
    await add({ url: 'http://a:1', models: [{ id: 'x', aliases: ['y'] }], worker_type: 'prefill' });
    await add({ url: 'http://b:1', models: [{ id: 'z' }] });
    expect((await call('GET', '/workers')).json).toMatchObject({
      total: 2,
      stats: { prefill_count: 1, decode_count: 0, regular_count: 1 },
    });
    expect(
      (await call('GET', '/workers?model=y')).json.workers.map((it: { url: string }) => it.url),
    ).toEqual(['http://a:1']);
    expect((await call('GET', '/v1/models')).json.data).toEqual([
      { id: 'x', object: 'model', created: 0, owned_by: 'self_hosted' },
      { id: 'z', object: 'model', created: 0, owned_by: 'self_hosted' },
    ]);
  });

  it('tells a bad id from an unknown one, and answers HEAD', async () => {
    const { call, add } = await boot();
    const unknown = '01890000-0000-7000-8000-000000000000';
    for (const method of ['GET', 'DELETE']) {
      expect(await call(method, '/workers/not-a-uuid')).toMatchObject({
        status: 400,
        json: { code: 'BAD_REQUEST' },
      });
      expect(await call(method, `/workers/${unknown}`)).toMatchObject({
        status: 404,
        json: { code: 'WORKER_NOT_FOUND' },
      });
    }
    expect((await call('PATCH', `/workers/${unknown}`, {})).status).toBe(404);
    const id = await add({ url: E1 });
    expect((await call('HEAD', `/workers/${id}`)).status).toBe(200);
    expect((await call('GET', `/workers/${encodeURIComponent(E1)}`)).json.id).toBe(id);
    expect(
      (await call('GET', `/workers/${encodeURIComponent('http://u:canary@h')}`)).text,
    ).not.toContain('canary');
  });

  it('says in words that there is no model', async () => {
    const { call } = await boot();
    expect(await call('GET', '/v1/models')).toMatchObject({
      status: 503,
      text: 'No models available',
    });
  });
});

describe('PUT and PATCH /workers/{id}', () => {
  const FULL = {
    url: E1,
    worker_type: 'prefill',
    bootstrap_port: 9000,
    kv_connector: 'nixl',
    labels: { a: '1', b: '2' },
    api_key: 'canary-key',
    health: { timeout_secs: 3, check_interval_secs: 9 },
    http_pool: { timeout_secs: 4 },
    resilience: { max_retries: 2 },
  };

  it('replaces on PUT, keeping id, load and a key that was not sent', async () => {
    const { add, call, flush, registry } = await boot();
    const id = await add(FULL);
    registry.byId(id)?.beginRequest();
    const put = await call('PUT', `/workers/${id}`, { url: E1, priority: 57 });
    expect(put).toMatchObject({
      status: 202,
      json: {
        status: 'accepted',
        worker_id: id,
        message: 'Worker update queued for background processing',
      },
    });
    await flush();
    const { json } = await call('GET', `/workers/${id}`);
    expect(json).toMatchObject({
      id,
      url: E1,
      priority: 57,
      load: 1,
      status: 'ready',
      worker_type: 'regular',
    });
    expect(json.resilience).toBeUndefined();
    expect(registry.byId(id)?.apiKey).toBe('canary-key');
    expect((await call('PUT', `/workers/${id}`, { url: 'http://other:1' })).json.code).toBe(
      'BAD_REQUEST',
    );
  });

  it('changes only what a PATCH names', async () => {
    const { add, call, flush, registry, events } = await boot();
    const id = await add(FULL);
    await call('PATCH', `/workers/${id}`, {
      priority: 7,
      labels: { b: '3', c: '4' },
      health: { timeout_secs: 1 },
    });
    await flush();
    const { json } = await call('GET', `/workers/${id}`);
    const { api_key: _key, ...shown } = FULL;
    expect(json).toMatchObject({
      ...shown,
      priority: 7,
      labels: { a: '1', b: '3', c: '4' },
      health: { timeout_secs: 1, check_interval_secs: 9 },
      status: 'ready',
    });
    expect(registry.byId(id)?.apiKey).toBe('canary-key');
    expect(events.at(-1)).toMatchObject({ kind: 'replaced', previousModelId: 'm' });
  });

  it('makes a worker ready when PATCH switches its health check off', async () => {
    const { add, call, flush, registry, time } = await boot();
    const id = await add({ url: E1 });
    registry.byId(id)?.setStatus('not_ready');
    await call('PATCH', `/workers/${id}`, { health: { disable_health_check: true } });
    await flush();
    expect(registry.byId(id)?.status).toBe('ready');
    expect(time.pending).toBe(0);
  });

  it('does not bring back a worker deleted while a PUT was under way', async () => {
    const { add, call, caller, flush, registry } = await boot();
    const id = await add({ url: E1, health: { drain_settle_secs: 0 } });
    caller.on('/health', () => new Promise(() => undefined));
    await call('PUT', `/workers/${id}`, { url: E1 });
    await call('DELETE', `/workers/${id}`);
    await flush();
    expect(registry.total).toBe(0);
  });
});

describe('DELETE /workers/{id}', () => {
  it('drains a ready worker for its settle time; requests in flight keep it', async () => {
    const { add, call, flush, registry, time } = await boot();
    const id = await add({ url: E1, health: { drain_settle_secs: 2 } });
    const worker = registry.byId(id);
    worker?.beginRequest();
    expect((await call('DELETE', `/workers/${id}`)).json).toEqual({
      status: 'accepted',
      worker_id: id,
      message: 'Worker removal queued for background processing',
    });
    expect((await call('GET', `/workers/${id}`)).json).toMatchObject({
      status: 'draining',
      load: 1,
    });
    expect(registry.pool('m')?.available()).toEqual([]);
    time.advance(1999);
    await flush();
    expect(registry.total).toBe(1);
    time.advance(1);
    await flush();
    expect(registry.total).toBe(0);
    expect((await call('GET', `/workers/${id}`)).status).toBe(404);
    worker?.endRequest();
    expect(worker?.load).toBe(0);
  });

  it('skips the wait on a second removal, and for a worker that is not ready', async () => {
    const { add, call, flush, registry } = await boot();
    const one = await add({ url: 'http://a:1' });
    const two = await add({ url: 'http://b:1' });
    registry.byId(two)?.setStatus('not_ready');
    await call('DELETE', `/workers/${two}`);
    await call('DELETE', `/workers/${one}`);
    await flush();
    expect(registry.total).toBe(1);
    await call('DELETE', `/workers/${one}`);
    await flush();
    expect(registry.total).toBe(0);
  });

  it('calls off a registration under way', async () => {
    const { call, caller, flush, registry } = await boot();
    caller.on('/health', () => new Promise(() => undefined));
    const { json } = await call('POST', '/workers', { url: E1 });
    expect((await call('DELETE', `/workers/${json.worker_id}`)).status).toBe(202);
    await flush();
    expect(caller.inFlight).toBe(0);
    expect((await call('GET', `/workers/${json.worker_id}`)).status).toBe(404);
    caller.on('/health', { status: 200 });
    expect((await call('POST', '/workers', { url: E1 })).status).toBe(202);
    await flush();
    expect(registry.total).toBe(1);
  });

  it('keeps the id of a registration that follows one called off a moment before', async () => {
    const { app, caller, flush } = await boot();
    caller.on('/health', () => new Promise(() => undefined));
    const commands = app.get(WorkerCommands);
    const first = commands.add({ url: E1 });
    await flush();
    commands.remove(first.id);
    const second = commands.add({ url: E1 });
    await flush();
    expect(second.id).not.toBe(first.id);
    expect(commands.find(second.id).status).toBe('pending');
    expect(() => commands.add({ url: E1 })).toThrow(/already/);
  });

  it('takes the same URL again while it drains: new id, registered after the old is gone', async () => {
    const { add, call, flush, registry, time } = await boot();
    const old = await add({ url: E1 });
    await call('DELETE', `/workers/${old}`);
    const { status, json } = await call('POST', '/workers', { url: E1 });
    expect(status).toBe(202);
    expect(json.worker_id).not.toBe(old);
    time.advance(5000);
    await flush();
    expect(registry.all().map((it) => it.id)).toEqual([json.worker_id]);
  });

  it('by URL, calls off what was to follow a worker that drains; by id, that worker alone', async () => {
    const { add, call, flush, registry } = await boot();
    const old = await add({ url: E1 });
    await call('DELETE', `/workers/${old}`);
    const { json } = await call('POST', '/workers', { url: E1 });
    const byUrl = await call('DELETE', `/workers/${encodeURIComponent(E1)}`);
    expect(byUrl.json).toMatchObject({ worker_id: old });
    await flush();
    expect(registry.total).toBe(0);
    expect((await call('GET', `/workers/${json.worker_id}`)).status).toBe(404);
    const again = await add({ url: E1 });
    await call('DELETE', `/workers/${again}`);
    const next = await call('POST', '/workers', { url: E1 });
    await call('DELETE', `/workers/${again}`);
    await flush();
    expect(registry.all().map((it) => it.id)).toEqual([next.json.worker_id]);
  });
});
