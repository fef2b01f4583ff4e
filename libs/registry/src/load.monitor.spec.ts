import { WORKER_LOADS, WorkerCallError, type WorkerCall, type WorkerLoads } from '@smg/plugin-api';
import { bootRegistry, type Rig } from '../test/rig';
import { type LoadOptions, type RegistryOptions } from './core/registry-options';
import { type Worker } from './core/worker';

const E1 = 'http://e1:8000';
const E2 = 'http://e2:8000';
/** The rig's chance is 0, so each interval is cut by the whole jitter. */
const INTERVAL_MS = 9000;

let rig: Rig;

async function boot(loads: Partial<LoadOptions>, more?: Partial<RegistryOptions>): Promise<Rig> {
  const options = { intervalSecs: 10, isWanted: false, engineMetrics: false, ...loads };
  rig = await bootRegistry({ loads: options, ...more });
  rig.caller.on('/v1/loads', { body: loadsOf(0) });
  return rig;
}

afterEach(async () => {
  await rig.close();
  // Nothing may be left ticking, or asking.
  expect(rig.time.pending).toBe(0);
  expect(rig.caller.inFlight).toBe(0);
});

const loadsOf = (waiting: number, usage = 0.1, dp_rank = 0) => ({
  loads: [{ dp_rank, num_running_reqs: 1, num_waiting_reqs: waiting, token_usage: usage }],
});

const callsTo = (path: string): readonly WorkerCall[] =>
  rig.caller.calls.filter((call) => call.path.startsWith(path));

const report = (worker: Worker) => rig.app.get<WorkerLoads>(WORKER_LOADS).reportOf(worker);

const workerAt = (url: string): Worker => {
  const worker = rig.registry.byUrl(url);
  if (worker === undefined) throw new Error(`${url} is not registered`);
  return worker;
};

async function pass(ms: number): Promise<void> {
  rig.time.advance(ms);
  await rig.flush();
}

/** An engine that answers when told to. */
function held(body: unknown): { answer: () => Promise<{ body: unknown }>; release: () => void } {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  return { answer: () => gate.then(() => ({ body })), release: () => release() };
}

describe('a monitor that nobody needs', () => {
  it('asks nothing and keeps no timer', async () => {
    await boot({}, { health: { ...HEALTH, isDisabled: true } });
    await rig.add({ url: E1 });
    await pass(60_000);
    expect(rig.time.pending).toBe(0);
    expect(callsTo('/v1/loads')).toEqual([]);
    expect(callsTo('/metrics')).toEqual([]);
    rig.metrics.collect();
    expect(rig.metrics.series('smg_workers_overloaded')).toEqual([]);
    expect(rig.metrics.names().filter((name) => name.startsWith('smg_engine'))).toEqual([]);
  });

  it('begins with the first report that a policy wants, for its group alone', async () => {
    await boot({});
    await rig.add({ url: E1, models: [{ id: 'm' }] });
    await rig.add({ url: E2, models: [{ id: 'other' }] });
    expect(report(workerAt(E1))).toBeUndefined();
    await rig.flush();
    expect(report(workerAt(E1))).toMatchObject({ sequence: 1, waitingRequests: 0 });
    await pass(INTERVAL_MS);
    expect(callsTo('/v1/loads').map((call) => call.baseUrl)).toEqual([E1, E1]);
  });
});

const HEALTH = {
  endpoint: '/health',
  timeoutSecs: 5,
  intervalSecs: 60,
  successThreshold: 2,
  failureThreshold: 3,
  isDisabled: false,
};

describe('polling', () => {
  it("asks each ready engine at once and every interval, with the worker's key", async () => {
    await boot({ isWanted: true });
    await rig.add({ url: E1, api_key: 'canary' });
    expect(callsTo('/v1/loads')).toEqual([
      expect.objectContaining({
        baseUrl: E1,
        method: 'GET',
        path: '/v1/loads?include=core,disagg,queues,memory',
        apiKey: 'canary',
        timeoutMs: 5000,
        stopsAtLimit: true,
      }),
    ]);
    await pass(INTERVAL_MS - 1);
    expect(callsTo('/v1/loads')).toHaveLength(1);
    await pass(1);
    expect(callsTo('/v1/loads')).toHaveLength(2);
    expect(report(workerAt(E1))?.sequence).toBe(2);
  });

  it('asks an engine once for all of its ranks, and gives each its own', async () => {
    await boot({ isWanted: true });
    rig.caller.on('/v1/loads', {
      body: { loads: [...loadsOf(3, 0.2, 0).loads, ...loadsOf(5, 0.4, 1).loads] },
    });
    await rig.add({ url: `${E1}@0`, dp_size: 2 });
    await rig.add({ url: `${E1}@1`, dp_size: 2 });
    rig.caller.calls.length = 0;
    await pass(INTERVAL_MS);
    expect(callsTo('/v1/loads').map((call) => call.baseUrl)).toEqual([E1]);
    expect(report(workerAt(`${E1}@0`))).toMatchObject({ waitingRequests: 3, tokenUsage: 0.2 });
    expect(report(workerAt(`${E1}@1`))).toMatchObject({ waitingRequests: 5, tokenUsage: 0.4 });
  });

  it('goes on with the other ranks when the one that was to be asked for leaves', async () => {
    await boot({ isWanted: true });
    const slow = held(loadsOf(0));
    for (let i = 1; i <= 32; i++) await rig.add({ url: `http://e:${i}` });
    rig.caller.on('/v1/loads', slow.answer);
    await pass(INTERVAL_MS);
    const settle = { health: { drain_settle_secs: 0 } };
    const id = await rig.add({ url: `${E1}@0`, dp_size: 2, ...settle });
    await rig.add({ url: `${E1}@1`, dp_size: 2, ...settle });
    await rig.call('DELETE', `/workers/${id}`);
    slow.release();
    for (let i = 0; i < 3; i++) await rig.flush();
    expect(report(workerAt(`${E1}@1`))?.sequence).toBe(1);
  });

  it('follows the shortest interval of a group', async () => {
    await boot({ isWanted: true });
    await rig.add({ url: E1 });
    await rig.add({ url: E2, load_monitor_interval_secs: 2 });
    rig.caller.calls.length = 0;
    await pass(INTERVAL_MS);
    await pass(1800);
    expect(callsTo('/v1/loads')).toHaveLength(4);
  });

  it('never asks an engine that has not answered yet, nor more than 32 at once', async () => {
    await boot({ isWanted: true });
    const slow = held(loadsOf(0));
    rig.caller.on('/v1/loads', slow.answer);
    for (let i = 1; i <= 40; i++) await rig.add({ url: `http://e:${i}` });
    await pass(INTERVAL_MS);
    await pass(INTERVAL_MS);
    expect(callsTo('/v1/loads')).toHaveLength(32);
    expect(rig.caller.inFlight).toBe(32);
    slow.release();
    for (let i = 0; i < 5; i++) await rig.flush();
    expect(new Set(callsTo('/v1/loads').map((call) => call.baseUrl)).size).toBe(40);
    expect(rig.caller.inFlight).toBe(0);
  });

  it('leaves workers alone that are not ready, and forgets what they said', async () => {
    await boot({ isWanted: true, overload: { waitingRequests: 1 } });
    rig.caller.on('/v1/loads', { body: loadsOf(5) });
    await rig.add({ url: E1 });
    const worker = workerAt(E1);
    expect(worker.isOverloaded).toBe(true);
    worker.setStatus('not_ready');
    expect([report(worker), worker.isOverloaded]).toEqual([undefined, false]);
    rig.caller.calls.length = 0;
    await pass(INTERVAL_MS);
    expect(callsTo('/v1/loads')).toEqual([]);
    worker.setStatus('ready');
    await rig.flush();
    expect(callsTo('/v1/loads')).toHaveLength(1);
    expect(worker.isOverloaded).toBe(true);
  });

  it('is called off when the worker goes, and nothing comes of a late answer', async () => {
    await boot({ isWanted: true });
    const slow = held(loadsOf(0));
    rig.caller.on(`${E1}/v1/loads`, slow.answer);
    const id = await rig.add({ url: E1, health: { drain_settle_secs: 0 } });
    const worker = workerAt(E1);
    expect(callsTo('/v1/loads')[0]?.signal?.aborted).toBe(false);
    await rig.call('DELETE', `/workers/${id}`);
    await rig.flush();
    expect(callsTo('/v1/loads')[0]?.signal?.aborted).toBe(true);
    expect(rig.caller.inFlight).toBe(0);
    slow.release();
    await rig.flush();
    expect(report(worker)).toBeUndefined();
    expect(rig.logged.filter((line) => line.includes('no load report'))).toEqual([]);
    rig.caller.calls.length = 0;
    await pass(3 * INTERVAL_MS);
    expect(rig.caller.calls).toEqual([]);
  });

  it('starts anew with a worker that comes back while its engine is being asked', async () => {
    await boot({ isWanted: true });
    const slow = held(loadsOf(1));
    rig.caller.on('/v1/loads', slow.answer);
    const id = await rig.add({ url: E1, health: { drain_settle_secs: 0 } });
    await rig.call('DELETE', `/workers/${id}`);
    await rig.flush();
    rig.caller.on('/v1/loads', { body: loadsOf(7) });
    await rig.add({ url: E1 });
    slow.release();
    await rig.flush();
    expect(report(workerAt(E1))).toMatchObject({ sequence: 1, waitingRequests: 7 });
  });
});

describe('an engine without /v1/loads', () => {
  const METRICS = 'sglang:num_running_reqs 2\nsglang:num_queue_reqs 4\nsglang:token_usage 0.5\n';

  it.each([
    ['404', { status: 404 }],
    ['405', { status: 405 }],
    ['501', { status: 501 }],
    ['a 200 of another shape', { body: { status: 'ok' } }],
    ['a 200 that is no JSON', { body: '<html>' }],
  ])('that answers %s is asked for its metrics from then on', async (_, answer) => {
    await boot({ isWanted: true });
    rig.caller.on('/v1/loads', answer).on('/metrics', { body: METRICS });
    await rig.add({ url: E1 });
    await pass(INTERVAL_MS);
    expect(callsTo('/v1/loads')).toHaveLength(1);
    expect(callsTo('/metrics')).toHaveLength(2);
    expect(report(workerAt(E1))).toMatchObject({ waitingRequests: 4, tokenUsage: 0.5 });
  });

  it('is asked again once its worker is replaced, or was away', async () => {
    await boot({ isWanted: true });
    rig.caller.on('/v1/loads', { status: 404 }).on('/metrics', { body: METRICS });
    const id = await rig.add({ url: E1 });
    rig.caller.on('/v1/loads', { body: loadsOf(9) });
    await pass(INTERVAL_MS);
    expect(report(workerAt(E1))?.waitingRequests).toBe(4);
    await rig.call('PUT', `/workers/${id}`, { url: E1 });
    await rig.flush();
    expect(report(workerAt(E1))?.waitingRequests).toBe(9);
    rig.caller.on('/v1/loads', { status: 404 });
    await pass(INTERVAL_MS);
    expect(report(workerAt(E1))?.waitingRequests).toBe(4);
    rig.caller.on('/v1/loads', { body: loadsOf(8) });
    workerAt(E1).setStatus('not_ready');
    workerAt(E1).setStatus('ready');
    await rig.flush();
    expect(report(workerAt(E1))?.waitingRequests).toBe(8);
  });

  it.each([
    ['a 500', { status: 500 }],
    ['a timeout', new WorkerCallError('timeout', 'GET /v1/loads: no answer in 5 s')],
    ['too long an answer', { body: 'x'.repeat(2 * 1024 * 1024) }],
  ])('is not what %s makes it', async (_, answer) => {
    await boot({ isWanted: true });
    rig.caller.on('/v1/loads', answer).on('/metrics', { body: METRICS });
    await rig.add({ url: E1 });
    expect(report(workerAt(E1))).toBeUndefined();
    rig.caller.on('/v1/loads', { body: loadsOf(1) });
    await pass(INTERVAL_MS);
    expect(callsTo('/metrics')).toEqual([]);
    expect(report(workerAt(E1))?.waitingRequests).toBe(1);
  });

  it('may say nothing there either: told once, and once more when it does', async () => {
    await boot({ isWanted: true });
    rig.caller.on('/v1/loads', { status: 404 }).on('/metrics', { body: 'up 1\n' });
    await rig.add({ url: E1 });
    await pass(INTERVAL_MS);
    expect(report(workerAt(E1))).toBeUndefined();
    rig.caller.on('/metrics', { body: METRICS });
    await pass(INTERVAL_MS);
    const told = rig.logged.filter((line) => line.includes('load-monitor'));
    expect(told.map((line) => line.split(' load-monitor')[0])).toEqual([
      `no load report of ${E1}: neither /v1/loads nor /metrics tells the load`,
      `${E1} reports its load again`,
    ]);
  });
});

describe('overload', () => {
  const available = () => rig.registry.pool('m')?.available() ?? [];

  it('takes a worker out with the report that says so, and back with the next', async () => {
    await boot({ overload: { waitingRequests: 8, tokenUsage: 0.9 } });
    await rig.add({ url: E1 });
    await rig.add({ url: E2 });
    rig.caller.on(`${E1}/v1/loads`, { body: loadsOf(8) });
    await pass(INTERVAL_MS);
    expect(available().map((worker) => worker.url)).toEqual([E2]);
    rig.metrics.collect();
    expect(rig.metrics.value('smg_workers_overloaded', 'm')).toBe(1);
    rig.caller.on('/v1/loads', { body: loadsOf(0, 0.9) });
    rig.caller.on(`${E1}/v1/loads`, { body: loadsOf(7, 0.89) });
    await pass(INTERVAL_MS);
    expect(available().map((worker) => worker.url)).toEqual([E1]);
    expect(rig.logged.join('\n')).toContain(`${E1} is overloaded: 8 waiting, KV use 0.10`);
    expect(rig.logged.join('\n')).toContain(`${E1} is no longer overloaded`);
  });

  it('ends with a fetch that fails', async () => {
    await boot({ overload: { waitingRequests: 1 } });
    rig.caller.on('/v1/loads', { body: loadsOf(5) });
    await rig.add({ url: E1 });
    expect(available()).toEqual([]);
    rig.caller.on('/v1/loads', new WorkerCallError('unreachable', 'refused'));
    await pass(INTERVAL_MS);
    expect(available()).toHaveLength(1);
    expect(report(workerAt(E1))).toBeUndefined();
  });

  it('does not make the gateway unready, nor the worker unhealthy', async () => {
    await boot({ overload: { waitingRequests: 1 } });
    rig.caller.on('/v1/loads', { body: loadsOf(5) });
    const id = await rig.add({ url: E1 });
    expect((await rig.call('GET', `/workers/${id}`)).json).toMatchObject({
      status: 'ready',
      is_healthy: true,
    });
    rig.metrics.collect();
    expect(rig.metrics.value('smg_worker_health', E1)).toBe(1);
  });

  it("goes by a worker's own limits, which start the polling, and by new ones at once", async () => {
    await boot({});
    rig.caller.on('/v1/loads', { body: loadsOf(5) });
    const id = await rig.add({ url: E1, overload: { waiting_requests: 5 } });
    await rig.add({ url: E2 });
    expect(available().map((worker) => worker.url)).toEqual([E2]);
    await rig.call('PUT', `/workers/${id}`, { url: E1, overload: { waiting_requests: 6 } });
    await rig.flush();
    expect(available()).toHaveLength(2);
  });

  it('leaves no series behind', async () => {
    await boot({ overload: { waitingRequests: 1 } });
    const id = await rig.add({ url: E1, health: { drain_settle_secs: 0 } });
    rig.metrics.collect();
    expect(rig.metrics.value('smg_workers_overloaded', 'm')).toBe(0);
    await rig.call('DELETE', `/workers/${id}`);
    await rig.flush();
    rig.metrics.collect();
    expect(rig.metrics.series('smg_workers_overloaded')).toEqual([]);
  });
});

describe('smg_engine_* metrics', () => {
  const LOADS = {
    loads: [
      {
        dp_rank: 0,
        num_running_reqs: 2,
        num_waiting_reqs: 3,
        token_usage: 0.5,
        gen_throughput: 100,
        cache_hit_rate: 0.25,
        disaggregation: {
          mode: 'prefill',
          kv_transfer_latency_ms: 12,
          kv_transfer_speed_gb_s: 3,
          prefill_bootstrap_queue_reqs: 1,
          prefill_inflight_queue_reqs: 1,
        },
      },
      { dp_rank: 1, num_running_reqs: 7, num_waiting_reqs: 0 },
    ],
  };

  it('[row 115] show what each rank reports, and a transfer with its role', async () => {
    await boot({ engineMetrics: true });
    rig.caller.on('/v1/loads', { body: LOADS });
    await rig.add({ url: E1 });
    const { metrics } = rig;
    metrics.collect();
    const value = (name: string, rank: string) =>
      metrics.value(`smg_engine_${name}`, E1, 'm', rank);
    expect([value('running_requests', '0'), value('running_requests', '1')]).toEqual([2, 7]);
    expect([value('waiting_requests', '0'), value('token_usage', '0')]).toEqual([3, 0.5]);
    expect([value('gen_throughput', '0'), value('gen_throughput', '1')]).toEqual([100, undefined]);
    expect([value('cache_hit_rate', '0'), value('token_usage', '1')]).toEqual([0.25, undefined]);
    const transfer = (name: string) => metrics.value(`smg_engine_pd_${name}`, E1, 'prefill', '0');
    expect([transfer('kv_transfer_latency_ms'), transfer('kv_transfer_speed_gb_s')]).toEqual([
      12, 3,
    ]);
    expect([transfer('prefill_queue_reqs'), transfer('decode_queue_reqs')]).toEqual([2, undefined]);
  });

  it('go with a rank, with a report and with the worker', async () => {
    await boot({ engineMetrics: true });
    rig.caller.on('/v1/loads', { body: LOADS });
    const id = await rig.add({ url: E1, health: { drain_settle_secs: 0 } });
    const series = () => {
      rig.metrics.collect();
      const names = rig.metrics.names().filter((name) => name.startsWith('smg_engine_'));
      return names.reduce((sum, name) => sum + rig.metrics.series(name).length, 0);
    };
    const all = series();
    rig.caller.on('/v1/loads', { body: { loads: LOADS.loads.slice(0, 1) } });
    await pass(INTERVAL_MS);
    expect(series()).toBe(all - 2);
    rig.caller.on('/v1/loads', { status: 500 });
    await pass(INTERVAL_MS);
    expect(series()).toBe(0);
    rig.caller.on('/v1/loads', { body: LOADS });
    await pass(INTERVAL_MS);
    expect(series()).toBe(all);
    await rig.call('DELETE', `/workers/${id}`);
    await rig.flush();
    expect(series()).toBe(0);
  });
});

describe('GET /get_loads', () => {
  it('shares the answer of a poll under way, and makes a document of metrics', async () => {
    await boot({ isWanted: true });
    const slow = held(loadsOf(2));
    rig.caller
      .on(`${E1}/v1/loads`, slow.answer)
      .on(`${E2}/v1/loads`, { status: 404 })
      .on(`${E2}/metrics`, { body: 'vllm:num_requests_running 3\n' });
    await rig.add({ url: E1 });
    await rig.add({ url: E2 });
    const asked = rig.call('GET', '/get_loads');
    await rig.flush();
    slow.release();
    const documentOf = (running: number) => ({
      loads: [
        { dp_rank: 0, num_running_reqs: running, num_waiting_reqs: 0, num_total_reqs: running },
      ],
    });
    expect((await asked).json).toEqual({
      workers: [
        { worker: E1, load: -1, details: loadsOf(2) },
        { worker: E2, load: -1, details: documentOf(3) },
      ],
    });
    expect(callsTo('/v1/loads').filter((call) => call.baseUrl === E1)).toHaveLength(1);
  });
});
