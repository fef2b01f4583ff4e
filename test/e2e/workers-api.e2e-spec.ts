import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send, type Answer } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UNKNOWN_ID = '0198b6a0-0000-7000-8000-000000000000';

describe('the worker API', () => {
  let gateway: RunningGateway;
  let first: MockEngine;
  let second: MockEngine;
  let workers: ReturnType<typeof workersOf>;

  beforeAll(async () => {
    first = await new MockEngine().start();
    second = await new MockEngine({
      kind: 'vllm',
      model: '/models/v',
      servedModelName: 'v',
    }).start();
    gateway = await startGateway(
      { health: { drainSettleSecs: 0 }, routing: { policy: 'round_robin' } },
      { engines: [first] },
    );
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await gateway.close();
  });
  afterEach(async () => {
    first.behaveNormally();
    second.behaveNormally();
    for (const { id, url } of (await workers.list()).workers) {
      if (url !== first.url) await workers.remove(id);
    }
    await until('only the first is left', async () => (await workers.list()).total === 1);
  });

  it('[G92] GET /workers has an entry for every worker, total and stats', async () => {
    const got = await send(`${gateway.url}/workers`);
    expect(got.status).toBe(200);
    expect(got.json).toMatchObject({
      total: 1,
      stats: { prefill_count: 0, decode_count: 0, regular_count: 1 },
    });
    const [worker] = got.json['workers'];
    expect(worker).toMatchObject({
      id: expect.stringMatching(UUID_V7),
      model_id: 'mock-model',
      url: first.url,
      worker_type: 'regular',
      connection_mode: 'http',
      runtime_type: 'sglang',
      priority: 50,
      cost: 1,
      is_healthy: true,
      status: 'ready',
      load: 0,
      max_connection_attempts: 20,
    });
    expect(worker.labels).toMatchObject({
      served_model_name: 'mock-model',
      model_path: 'mock-model',
      max_running_requests: '2048',
      context_length: '32768',
    });
    expect(worker.models[0]).toMatchObject({ id: 'mock-model', context_length: 32768 });
    expect(Object.values(worker)).not.toContain(null);
    expect(worker).not.toHaveProperty('job_status');
  });

  it('[G95] POST answers 202 at once with the id under which the worker will be', async () => {
    second.behave({ route: '/health', delayMs: 150, times: 1 });
    const added = await send(`${gateway.url}/workers`, { body: { url: second.url } });
    expect(added.status).toBe(202);
    const id = added.json['worker_id'] as string;
    expect(id).toMatch(UUID_V7);
    expect(added.headers.location).toBe(`/workers/${id}`);
    expect(added.json).toEqual({
      status: 'accepted',
      worker_id: id,
      url: second.url,
      location: `/workers/${id}`,
      message: 'Worker addition queued for background processing',
    });
    const pending = await workers.find(id);
    expect(pending).toMatchObject({
      id,
      url: second.url,
      status: 'pending',
      is_healthy: false,
      job_status: { job_type: 'AddWorker', worker_url: second.url },
    });
    expect(['pending', 'processing']).toContain(pending.job_status?.status);
    expect(Math.abs((pending.job_status?.timestamp ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    await workers.untilReady(id);
    const ready = await workers.find(id);
    expect(ready).toMatchObject({ id, url: second.url, runtime_type: 'vllm', model_id: 'v' });
    expect(ready).not.toHaveProperty('job_status');
  });

  it('[3.6] finds out what an engine serves, sglang and vllm alike; labels that are given win', async () => {
    await workers.added({ url: second.url, labels: { version: 'mine', team: 'a' } });
    const worker = await workers.byUrl(second.url);
    expect(worker.runtime_type).toBe('vllm');
    expect(worker.labels).toMatchObject({
      served_model_name: 'v',
      model_path: '/models/v',
      version: 'mine',
      team: 'a',
    });
    const models = (await send(`${gateway.url}/v1/models`)).json['data'];
    expect(models.map(({ id }: { id: string }) => id).sort()).toEqual(['mock-model', 'v']);
  });

  it('[3.6] a model card that is given wins over what the engine says', async () => {
    await workers.added({ url: second.url, models: [{ id: 'named', aliases: ['nick'] }] });
    expect(await workers.byUrl(second.url)).toMatchObject({ model_id: 'named' });
    const byAlias = await send(`${gateway.url}/workers?model=nick`);
    expect(byAlias.json).toMatchObject({ total: 1, stats: { regular_count: 1 } });
    expect(byAlias.json['workers'][0].url).toBe(second.url);
    expect((await send(`${gateway.url}/workers?model=other`)).json['total']).toBe(0);
  });

  it('[G94] refuses URLs no worker can have: 400 BAD_REQUEST', async () => {
    const bad = ['ftp://x', 'HTTP://127.0.0.1:1', 'http://', '127.0.0.1:80', '', 'http://a b:1'];
    for (const url of bad) {
      const got = await send(`${gateway.url}/workers`, { body: { url } });
      expect([url, got.status, got.json['code']]).toEqual([url, 400, 'BAD_REQUEST']);
      expect(typeof got.json['error']).toBe('string');
      expect(Object.keys(got.json).sort()).toEqual(['code', 'error']);
    }
    expect((await workers.list()).total).toBe(1);
  });

  it('[G94] refuses a URL that is taken, in every spelling: 409 and what to do instead', async () => {
    const { id } = await workers.byUrl(first.url);
    for (const url of [first.url, `${first.url}/`]) {
      const got = await send(`${gateway.url}/workers`, { body: { url } });
      expect([got.status, got.json['code']]).toEqual([409, 'WORKER_ALREADY_EXISTS']);
      for (const part of [first.url, id, 'PUT', 'PATCH']) expect(got.json['error']).toContain(part);
    }
  });

  it('[G94] an id must be a UUID (400) and known (404), whatever the method', async () => {
    for (const method of ['GET', 'DELETE', 'PATCH', 'PUT']) {
      const body =
        method === 'PUT' ? { url: first.url } : method === 'PATCH' ? { priority: 1 } : undefined;
      const bad = await send(`${gateway.url}/workers/not-a-uuid`, { method, body });
      expect([method, bad.status, bad.json['code']]).toEqual([method, 400, 'BAD_REQUEST']);
      const unknown = await send(`${gateway.url}/workers/${UNKNOWN_ID}`, { method, body });
      expect([method, unknown.status, unknown.json['code']]).toEqual([
        method,
        404,
        'WORKER_NOT_FOUND',
      ]);
    }
  });

  it('[3.2] a body that cannot be read is 400, 415 or 422, as text', async () => {
    const cases: [unknown, Record<string, string>, number][] = [
      ['{"url":', {}, 400],
      ['', {}, 400],
      [{ url: 7 }, {}, 422],
      [{}, {}, 422],
      [[], {}, 422],
      [{ url: first.url, priority: 'high' }, {}, 422],
      ['{"url":"http://x"}', { 'content-type': 'text/plain' }, 415],
    ];
    for (const [body, headers, status] of cases) {
      const got = await send(`${gateway.url}/workers`, { body, headers, method: 'POST' });
      expect([body, got.status]).toEqual([body, status]);
      expect(got.headers['content-type']).toContain('text/plain');
      expect(got.text).not.toMatch(/\n\s+at /);
    }
  });

  it('[G95] an engine that is not there: job_status failed by the reserved id, then a retry works', async () => {
    const url = await closedUrl();
    const added = await send(`${gateway.url}/workers`, {
      body: { url, max_connection_attempts: 1 },
    });
    const id = added.json['worker_id'] as string;
    await until(
      'the job failed',
      async () => (await workers.find(id)).job_status?.status === 'failed',
    );
    const failed = await workers.find(id);
    expect(failed).toMatchObject({
      status: 'pending',
      is_healthy: false,
      job_status: { job_type: 'AddWorker', worker_url: url },
    });
    expect(failed.job_status?.message).toMatch(/ECONNREFUSED|refused|connect/i);
    expect((await workers.list()).workers.map((it) => it.url)).not.toContain(url);
    // The same URL may be given again: its failure reserves nothing.
    const again = await send(`${gateway.url}/workers`, {
      body: { url, max_connection_attempts: 1 },
    });
    expect(again.status).toBe(202);
    await send(`${gateway.url}/workers/${again.json['worker_id']}`, { method: 'DELETE' });
  });

  it('[G93] PUT with a higher priority: 202, soon visible, URL, id and load unchanged', async () => {
    const before = await workers.byUrl(first.url);
    const priority = (before.priority ?? 0) + 7;
    const put = await send(`${gateway.url}/workers/${before.id}`, {
      method: 'PUT',
      body: { url: first.url, priority },
    });
    expect(put.status).toBe(202);
    expect(put.json).toEqual({
      status: 'accepted',
      worker_id: before.id,
      message: 'Worker update queued for background processing',
    });
    await until('the priority is there', async () => {
      return (await workers.find(before.id)).priority === priority;
    });
    expect(await workers.find(before.id)).toMatchObject({ url: first.url, status: 'ready' });
  });

  it('[3.2] PUT to another URL is 400', async () => {
    const { id } = await workers.byUrl(first.url);
    const got = await send(`${gateway.url}/workers/${id}`, {
      method: 'PUT',
      body: { url: second.url },
    });
    expect([got.status, got.json['code']]).toEqual([400, 'BAD_REQUEST']);
  });

  it('[3.2] an older PUT that is still under way does not overwrite a newer one', async () => {
    const { id } = await workers.byUrl(first.url);
    const put = (priority: number): Promise<Answer> =>
      send(`${gateway.url}/workers/${id}`, { method: 'PUT', body: { url: first.url, priority } });
    first.behave({ route: '/health', delayMs: 400, times: 1 });
    await put(11);
    await put(22);
    await until('22 landed', async () => (await workers.find(id)).priority === 22);
    await until('nothing is under way', async () => !('job_status' in (await workers.find(id))));
    expect((await workers.find(id)).priority).toBe(22);
  });

  it('[3.2] a PATCH after a slow PUT lands last and loses nothing of it', async () => {
    const { id } = await workers.byUrl(first.url);
    first.behave({ route: '/health', delayMs: 300, times: 1 });
    await send(`${gateway.url}/workers/${id}`, {
      method: 'PUT',
      body: { url: first.url, priority: 31, labels: { a: '1' } },
    });
    await send(`${gateway.url}/workers/${id}`, { method: 'PATCH', body: { labels: { b: '2' } } });
    await until('both are there', async () => {
      const worker = await workers.find(id);
      return worker.labels?.['a'] === '1' && worker.labels['b'] === '2';
    });
    expect((await workers.find(id)).priority).toBe(31);
  });

  it('[3.2] a PUT under way does not resurrect a worker deleted meanwhile', async () => {
    const id = await workers.added({ url: second.url });
    const health = second.counters.of('/health');
    second.behave({ route: '/health', delayMs: 300, times: 1 });
    await send(`${gateway.url}/workers/${id}`, { method: 'PUT', body: { url: second.url } });
    await until('the PUT asks', () => second.counters.of('/health') > health);
    await workers.remove(id);
    await until('it is gone', async () => (await workers.list()).total === 1);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await workers.list()).total).toBe(1);
  });

  it('[3.2] PATCH keeps every field it does not name', async () => {
    const spec = {
      url: second.url,
      priority: 3,
      cost: 2.5,
      labels: { a: '1', b: '2' },
      api_key: 'canary-worker-key',
      bootstrap_port: 9000,
      kv_connector: 'NixlConnector',
      kv_role: 'kv_producer',
      kv_engine_id: 'engine-7',
      kv_block_size: 16,
      health: { timeout_secs: 3, check_interval_secs: 7, drain_settle_secs: 0 },
      http_pool: { pool_max_idle_per_host: 9, timeout_secs: 77 },
      resilience: { max_retries: 2, cb_failure_threshold: 4, retryable_status_codes: [503] },
      max_connection_attempts: 5,
      load_monitor_interval_secs: 6,
      overload: { waiting_requests: 4, token_usage: 0.5 },
      models: [{ id: 'm', aliases: ['n'], context_length: 100, metadata: { deep: [1] } }],
    };
    const id = await workers.added(spec);
    const before = await workers.find(id);
    const { api_key: _key, labels, ...shown } = spec;
    expect(before).toMatchObject(shown);
    await send(`${gateway.url}/workers/${id}`, {
      method: 'PATCH',
      body: { priority: 4, labels: { b: '3', c: '4' }, health: { timeout_secs: 9 } },
    });
    await until('the patch is there', async () => (await workers.find(id)).priority === 4);
    const after = await workers.find(id);
    expect(after).toEqual({
      ...before,
      priority: 4,
      labels: { ...before.labels, ...labels, b: '3', c: '4' },
      health: { ...spec.health, timeout_secs: 9 },
    });
    expect(JSON.stringify([before, after])).not.toContain('canary-worker-key');
    // The key survived the patch too: it is what the engine is shown.
    await send(`${gateway.url}/v1/chat/completions`, {
      body: { model: 'n', messages: [{ role: 'user', content: 'x' }] },
    });
    const seen = second.requestsTo('/v1/chat/completions').at(-1);
    expect(seen?.values('authorization')).toEqual(['Bearer canary-worker-key']);
  });

  it('[3.2] PATCH with disable_health_check makes the worker ready', async () => {
    const id = await workers.added({
      url: second.url,
      health: { failure_threshold: 1, check_interval_secs: 1 },
    });
    second.behave({ route: '/health', status: 503 });
    await until('it is not ready', async () => (await workers.find(id)).status === 'not_ready');
    await send(`${gateway.url}/workers/${id}`, {
      method: 'PATCH',
      body: { health: { disable_health_check: true } },
    });
    await workers.untilReady(id);
  });

  it('[46] the same URL five times, all at once: one worker, 409 for the others', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        send(`${gateway.url}/workers`, { body: { url: second.url } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409]);
    await until('it is registered', async () => (await workers.list()).total === 2);
    expect((await send(`${gateway.url}/workers`, { body: { url: second.url } })).status).toBe(409);
    expect((await workers.list()).total).toBe(2);
  });

  it('[3.3] a worker that is gone leaves no id behind; a new one at its URL has a new id', async () => {
    const id = await workers.added({ url: second.url });
    await workers.remove(id);
    await until('it is gone', async () => (await workers.list()).total === 1);
    expect((await send(`${gateway.url}/workers/${id}`)).status).toBe(404);
    expect(await workers.added({ url: second.url })).not.toBe(id);
  });

  it('accepts a percent-encoded URL where an id stands', async () => {
    const got = await send(`${gateway.url}/workers/${encodeURIComponent(first.url)}`);
    expect([got.status, got.json['url']]).toEqual([200, first.url]);
  });

  it('[G97] POST /flush_cache flushes every engine and says so; GET /get_loads lists all', async () => {
    await workers.added({ url: second.url });
    const flushed = await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect([200, 206]).toContain(flushed.status);
    expect(flushed.json).toMatchObject({ total_http_workers: 2, total_workers: 2 });
    expect(first.counters.of('/flush_cache')).toBe(1);
    const loads = await send(`${gateway.url}/get_loads`);
    expect(loads.status).toBe(200);
    const byUrl = Object.fromEntries(
      loads.json['workers'].map((it: { worker: string; load: number }) => [it.worker, it.load]),
    );
    expect(Object.keys(byUrl).sort()).toEqual([first.url, second.url].sort());
    expect(byUrl[first.url]).toBe(0);
  });

  it('[2.6] a failed flush is 206 and names who failed', async () => {
    first.behave({ route: '/flush_cache', status: 500 });
    const got = await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect(got.status).toBe(206);
    expect(got.json).toMatchObject({
      status: 'partial_success',
      workers_flushed: 0,
      successful: [],
      failed: [{ worker: first.url, error: expect.any(String) }],
    });
  });
});

describe('[G96][96] DELETE drains', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let other: MockEngine;
  let workers: ReturnType<typeof workersOf>;
  beforeAll(async () => {
    engine = await new MockEngine({ tokens: 40, tokenLatencyMs: 40 }).start();
    other = await new MockEngine({ model: 'other' }).start();
    gateway = await startGateway({ health: { drainSettleSecs: 1 } }, { engines: [engine, other] });
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    await Promise.all([engine.stop(), other.stop()]);
    await gateway.close();
  });

  it('the row says draining, no new request arrives, the stream finishes, then the worker is gone', async () => {
    const { id } = await workers.byUrl(engine.url);
    const stream = await open(`${gateway.url}/v1/chat/completions`, {
      body: { model: 'mock-model', stream: true, messages: [{ role: 'user', content: 'x' }] },
    });
    let text = '';
    stream.incoming.on('data', (part: Buffer) => (text += part.toString()));
    const done = new Promise((resolve) => stream.incoming.once('close', resolve));
    const from = performance.now();
    const removed = await send(`${gateway.url}/workers/${id}`, { method: 'DELETE' });
    expect(removed.status).toBe(202);
    expect(removed.json).toEqual({
      status: 'accepted',
      worker_id: id,
      message: 'Worker removal queued for background processing',
    });
    await until('it drains', async () => (await workers.find(id)).status === 'draining');
    expect(await workers.find(id)).toMatchObject({ is_healthy: false, load: 1 });
    const refused = await send(`${gateway.url}/v1/chat/completions`, {
      body: { model: 'mock-model', messages: [{ role: 'user', content: 'x' }] },
    });
    expect(refused.status).toBe(503);
    expect(refused.json['error'].code).toBe('no_available_workers');
    expect(engine.counters.of('/v1/chat/completions')).toBe(1);
    await until('it is gone', async () => {
      return (await send(`${gateway.url}/workers/${id}`)).status === 404;
    });
    expect(performance.now() - from).toBeGreaterThan(990);
    // The stream outlives the worker's row.
    expect(text).not.toContain('[DONE]');
    await done;
    expect(text).toContain('[DONE]');
    expect(stream.incoming.complete).toBe(true);
    expect(await gateway.metrics()).not.toContain(engine.url);
  });

  it('a second DELETE ends the wait', async () => {
    const id = await workers.added({ url: engine.url, health: { drain_settle_secs: 60 } });
    await workers.remove(id);
    await until('it drains', async () => (await workers.find(id)).status === 'draining');
    await workers.remove(id);
    await until('it is gone', async () => (await workers.list()).total === 1, 3000);
  });

  it('a worker that is not ready goes at once', async () => {
    const id = await workers.added({
      url: engine.url,
      health: { failure_threshold: 1, check_interval_secs: 1, drain_settle_secs: 60 },
    });
    engine.behave({ route: '/health', status: 503 });
    await until('it is not ready', async () => (await workers.find(id)).status === 'not_ready');
    await workers.remove(id);
    await until('it is gone', async () => (await workers.list()).total === 1, 3000);
  });
});

/** A URL nobody listens at. */
async function closedUrl(): Promise<string> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
