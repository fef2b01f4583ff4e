import { bootRegistry, type Rig } from '../test/rig';
import { type RegistryOptions } from './core/registry-options';
import { WorkersReadinessCheck } from './workers.readiness-check';

const E1 = 'http://e1:8000';

let rig: Rig;

const boot = async (options?: Partial<RegistryOptions>): Promise<Rig> =>
  (rig = await bootRegistry(options));

afterEach(async () => {
  await rig.close();
  // Nothing may be left ticking.
  expect(rig.time.pending).toBe(0);
});

describe('health', () => {
  it('moves a worker out and back, and confirms a recovery within a second', async () => {
    const { add, caller, flush, registry, time } = await boot();
    const worker = registry.byId(await add({ url: E1 }));
    for (let i = 0; i < 10; i++) worker?.recordTransportFailure(502);
    caller.on('/health', { status: 503 });
    for (let i = 0; i < 3; i++) {
      time.advance(60_000);
      await flush();
    }
    expect(worker?.status).toBe('not_ready');
    expect(rig.app.get(WorkersReadinessCheck).check()).toBe('insufficient healthy workers');
    caller.on('/health', { status: 200 });
    time.advance(60_000);
    await flush();
    time.advance(1000);
    await flush();
    expect(worker).toMatchObject({ status: 'ready', isAvailable: true });
    expect(rig.app.get(WorkersReadinessCheck).check()).toBeUndefined();
  });

  it('probes with the worker key and deadline, and takes no hint from a dead socket', async () => {
    const { add, caller } = await boot();
    await add({ url: E1, api_key: 'k', health: { timeout_secs: 2 } });
    expect(caller.calls.filter((it) => it.path === '/health').at(-1)).toMatchObject({
      apiKey: 'k',
      timeoutMs: 2000,
      baseUrl: E1,
    });
  });

  it('says in the log why a worker is out: the status, or why no answer came', async () => {
    const { add, caller, flush, time, logged } = await boot();
    await add({ url: E1, health: { failure_threshold: 1, check_interval_secs: 1 } });
    caller.on('/health', { status: 503 });
    time.advance(1000);
    await flush();
    caller.on('/health', new Error('GET /health: cannot connect (ECONNREFUSED)'));
    for (let i = 0; i < 3; i++) {
      time.advance(1000);
      await flush();
    }
    const lines = logged.join('\n');
    expect(lines).toContain(`${E1} ready -> not_ready: GET /health answered 503`);
    expect(lines).toContain(
      `${E1} not_ready -> failed: GET /health: cannot connect (ECONNREFUSED)`,
    );
  });

  it('removes a failed worker when told to', async () => {
    const { add, caller, flush, registry, time } = await boot({ removeUnhealthyWorkers: true });
    await add({ url: E1, health: { failure_threshold: 1, check_interval_secs: 1 } });
    caller.on('/health', new Error('refused'));
    for (let i = 0; i < 4; i++) {
      time.advance(1000);
      await flush();
    }
    expect(registry.total).toBe(0);
  });

  it('has at most 128 probes in flight', async () => {
    const { add, caller, flush, registry, time } = await boot({ jobQueueConcurrency: 4 });
    for (let i = 0; i < 150; i++) await add({ url: `http://h:${i + 1}` });
    caller.on('/health', () => new Promise(() => undefined));
    caller.peak = 0;
    time.advance(60_000);
    await flush();
    expect(registry.total).toBe(150);
    expect(caller.inFlight).toBe(128);
  });
});

describe('start-up', () => {
  it('says what a registration waits for: in the job status, and in the log once per reason', async () => {
    const { add, call, caller, flush, time, logged } = await boot();
    caller.on('/health', new Error('GET /health: cannot connect (ECONNREFUSED)'));
    const id = await add({ url: E1 });
    for (let i = 0; i < 2; i++) {
      time.advance(30_000);
      await flush();
    }
    const why = 'GET /health: cannot connect (ECONNREFUSED)';
    expect((await call('GET', `/workers/${id}`)).json.job_status).toMatchObject({
      status: 'processing',
      message: `waiting for the engine: ${why}`,
    });
    const told = logged.filter((line) => line.startsWith(`waiting for ${E1}`));
    expect(told.map((line) => line.split(' ', 8).join(' '))).toEqual([
      `waiting for ${E1}: GET /health: cannot connect (ECONNREFUSED)`,
    ]);
    caller.on('/health', { status: 200 });
    time.advance(30_000);
    await flush();
    expect((await call('GET', `/workers/${id}`)).json.job_status).toBeUndefined();
  });

  it('registers the workers of the command line with the gateway key, longer lists than the queue too', async () => {
    const startupWorkers = [1, 2, 3, 4].map((i) => ({
      url: `http://h:${i}`,
      workerType: 'regular' as const,
    }));
    const { flush, registry, time } = await boot({
      startupWorkers,
      apiKey: 'canary-key',
      jobQueueCapacity: 1,
      jobQueueConcurrency: 1,
    });
    for (let i = 0; i < 8; i++) {
      time.advance(500);
      await flush();
    }
    expect(registry.all().map((it) => [it.url, it.apiKey])).toEqual(
      startupWorkers.map((it) => [it.url, 'canary-key']),
    );
  });
});

describe('fleet', () => {
  it('flushes each engine once and reports failures', async () => {
    const { add, call, caller } = await boot();
    expect((await call('POST', '/flush_cache')).json).toMatchObject({
      status: 'success',
      message: 'No workers available for cache flush',
      total_workers: 0,
    });
    await add({ url: 'http://a:1@0' });
    await add({ url: 'http://a:1@1' });
    await add({ url: 'http://b:1' });
    expect(await call('POST', '/flush_cache')).toMatchObject({
      status: 200,
      json: { workers_flushed: 2 },
    });
    caller.on('http://b:1/flush_cache', { status: 400 });
    expect(await call('POST', '/flush_cache')).toMatchObject({
      status: 206,
      json: {
        status: 'partial_success',
        successful: ['http://a:1'],
        failed: [{ worker: 'http://b:1', error: 'engine answered 400' }],
      },
    });
  });

  it('sums used tokens, per rank where ranks are told apart, and says -1 when it cannot know', async () => {
    const { add, call, caller } = await boot();
    const details = {
      loads: [
        { dp_rank: 0, num_used_tokens: 5 },
        { dp_rank: 1, num_used_tokens: 7 },
      ],
    };
    await add({ url: 'http://a:1' });
    await add({ url: 'http://b:1@1' });
    await add({ url: 'http://c:1' });
    caller
      .on('http://a:1/v1/loads', { body: details })
      .on('http://b:1/v1/loads', { body: details });
    expect((await call('GET', '/get_loads')).json).toEqual({
      workers: [
        { worker: 'http://a:1', load: 12, details },
        { worker: 'http://b:1@1', load: 7, details },
        { worker: 'http://c:1', load: -1 },
      ],
    });
  });
});

describe('metrics and secrets', () => {
  it('drops every series of a removed worker: 500 adds and removals leave none behind', async () => {
    const { metrics, registry, add, flush, call } = await boot();
    await add({ url: E1 });
    const count = () => {
      metrics.collect();
      return metrics.names().reduce((sum, name) => sum + metrics.series(name).length, 0);
    };
    const before = count();
    for (let i = 0; i < 500; i++) {
      const id = await add({
        url: `http://w:${i + 1}`,
        models: [{ id: `m${i}` }],
        health: { drain_settle_secs: 0 },
      });
      const worker = registry.byId(id);
      for (let k = 0; k < 10; k++) worker?.recordOutcome(500);
      worker?.recordOutcome(200);
      if (i % 50 === 0) metrics.collect();
      await call('DELETE', `/workers/${id}`);
      await flush();
      worker?.recordOutcome(500);
      worker?.setStatus('not_ready');
    }
    expect(registry.total).toBe(1);
    expect(count()).toBe(before);
  });

  it('exports state, load and outcomes of a worker', async () => {
    const { metrics, registry, add } = await boot();
    const worker = registry.byId(await add({ url: E1 }));
    worker?.beginRequest();
    worker?.recordOutcome(200);
    for (let i = 0; i < 10; i++) worker?.recordOutcome(502);
    metrics.collect();
    metrics.collect();
    expect(metrics.value('smg_worker_health', E1)).toBe(1);
    expect(metrics.value('smg_worker_requests_active', E1)).toBe(1);
    expect(metrics.value('smg_worker_cb_state', E1)).toBe(1);
    expect(metrics.value('smg_worker_cb_outcomes_total', E1, 'failure')).toBe(10);
    expect(metrics.value('smg_worker_cb_outcomes_total', E1, 'success')).toBe(1);
    expect(metrics.value('smg_worker_cb_transitions_total', E1, 'closed', 'open')).toBe(1);
    expect(metrics.value('smg_worker_pool_size', 'regular', 'http', 'm')).toBe(1);
    expect(metrics.value('smg_worker_connections_active', 'regular', 'http')).toBe(1);
    expect(metrics.value('smg_worker_health_checks_total', 'regular', 'success')).toBe(1);
  });

  it('never shows a key, in an answer, a job, an event or a log line', async () => {
    const { add, call, caller, logged, flush, time } = await boot({ startupTimeoutSecs: 1 });
    const id = await add({ url: E1, api_key: 'canary-key' });
    await call('PATCH', `/workers/${id}`, { api_key: 'canary-new' });
    caller.on('/health', new Error('refused'));
    const failed = await add({ url: 'http://e2:1', api_key: 'canary-key' });
    time.advance(1000);
    await flush();
    const shown = [
      (await call('GET', '/workers')).text,
      (await call('GET', `/workers/${id}`)).text,
      (await call('GET', `/workers/${failed}`)).text,
      (await call('POST', '/workers', { url: 'http://u:canary-pw@h:1' })).text,
      (await call('POST', '/workers', { url: E1, api_key: 'canary-key' })).text,
      JSON.stringify(rig.events),
      ...logged,
    ].join('\n');
    expect(logged.length).toBeGreaterThan(1);
    expect(shown).not.toContain('canary');
  });
});
