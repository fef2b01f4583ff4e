import { request } from 'node:http';
import { MockEngine } from '@smg/testing';
import { workersOf } from '../support/workers';
import { startAll, startRl, type RlGateway } from './support/rl';

describe('fan-out', () => {
  const engines = Array.from({ length: 6 }, () => new MockEngine());
  const [a, b, c] = engines as [MockEngine, MockEngine, MockEngine];
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(...engines);
    gateway = await startRl({ rl: { fanoutConcurrency: 2 } });
    const workers = workersOf(gateway.url);
    for (const [at, { url }] of engines.entries()) {
      const labels = { group: at < 3 ? 'first' : 'second' };
      await workers.added({ url, labels, health: { disable_health_check: true } });
    }
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });
  afterEach(() => {
    for (const engine of engines) engine.behaveNormally();
  });

  it('[RL44] all well: 200, each engine called once, the selector stripped, others untouched', async () => {
    const got = await gateway.rl.fanout('flush_cache', 'group=first', {}, '&x=1');
    expect(got.status).toBe(200);
    expect(got.json).toMatchObject({ total: 3, succeeded: 3, failed: [] });
    expect(Object.keys(got.json['results'])).toEqual(Object.keys(got.json['results']).sort());
    expect(engines.map((engine) => engine.requestsTo('/flush_cache').length)).toEqual([
      1, 1, 1, 0, 0, 0,
    ]);
    expect(a.requestsTo('/flush_cache')[0]?.path).toBe('/flush_cache?x=1');
  });

  it('[RL48] at most --rl-fanout-concurrency calls at once', async () => {
    for (const engine of engines) engine.behave({ route: '/flush_cache', delayMs: 40 });
    let now = 0;
    let peak = 0;
    const undo = engines.map((engine) =>
      engine.onRequest(({ route }) => {
        if (route !== '/flush_cache') return;
        now += 1;
        peak = Math.max(peak, now);
        setTimeout(() => (now -= 1), 35);
      }),
    );
    const got = await gateway.rl.fanout('flush_cache', 'engine=sglang');
    for (const end of undo) end();
    expect([got.status, got.json['total']]).toEqual([200, 6]);
    expect(peak).toBe(2);
  });

  it('[RL45] [RL49] [RL51] partial failures are 207, each named, also when all failed', async () => {
    a.behave({ route: '/flush_cache', status: 500, body: { no: 1 } });
    await b.stop();
    const ids = { a: await gateway.rl.id(a), b: await gateway.rl.id(b), c: await gateway.rl.id(c) };
    const got = await gateway.rl.fanout('flush_cache', 'group=first');
    expect(got.status).toBe(207);
    expect(got.json).toMatchObject({ total: 3, succeeded: 1 });
    expect(Object.keys(got.json['results']).sort()).toEqual([ids.a, ids.c].sort());
    const failed = got.json['failed'] as { worker_id: string }[];
    expect(failed.map(({ worker_id }) => worker_id)).toEqual([ids.a, ids.b].sort());
    expect(failed.find(({ worker_id }) => worker_id === ids.a)).toEqual({
      worker_id: ids.a,
      url: a.url,
      error: 'upstream_error',
      message: 'HTTP 500',
      status: 500,
    });
    const dead = failed.find(({ worker_id }) => worker_id === ids.b);
    expect(dead).toMatchObject({ error: 'upstream_unreachable', url: b.url });
    expect('status' in (dead ?? {})).toBe(false);
    c.behave({ route: '/flush_cache', status: 400 });
    const all = await gateway.rl.fanout('flush_cache', 'group=first');
    expect([all.status, all.json['succeeded']]).toEqual([207, 0]);
    await b.start();
  });

  it('[RL50] the caller leaves: calls in flight are aborted, further ones do not start', async () => {
    for (const engine of engines) engine.behave({ route: '/flush_cache', delayMs: 5_000 });
    const count = (): number =>
      engines.reduce((n, it) => n + it.requestsTo('/flush_cache').length, 0);
    const before = count();
    const aborted = (): number => engines.reduce((n, it) => n + it.counters.aborted, 0);
    const abortedBefore = aborted();
    const outgoing = request(`${gateway.url}/v1/rl/engine/flush_cache?selector=engine%3Dsglang`, {
      method: 'POST',
      agent: false,
    });
    outgoing.on('error', () => undefined);
    outgoing.end();
    await a.waitUntil(() => count() - before === 2);
    outgoing.destroy();
    await a.waitUntil(() => aborted() - abortedBefore === 2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(count() - before).toBe(2);
  });

  it.each([
    ['[RL29]', '', 'selector_required', {}],
    ['[RL29]', '?selector=', 'selector_required', {}],
    ['[RL29]', '?selector=%20%20', 'selector_required', {}],
    ['[RL29]', '?selector=engine%3D%3D', 'invalid_selector', { offset: 7 }],
    ['', '?selector=a%3D%C3%A9%20b', 'invalid_selector', { offset: 5 }],
    ['', '?selector=a%3Db&selector=c%3Dd', 'invalid_selector', { offset: 0 }],
    ['', '?selector=%FF', 'invalid_selector', { offset: 0 }],
    ['[RL30]', '?selector=+engine%3Dvllm+', 'no_workers_match', { selector: 'engine=vllm' }],
  ])('%s %s is %s', async (_, query, code, context) => {
    const before = engines.reduce((n, it) => n + it.counters.received, 0);
    const got = await gateway.rl.ask(`/engine/flush_cache${query}`, { body: {} });
    expect(got.status).toBe(400);
    expect(got.json).toMatchObject({ error: code, ...context });
    expect(engines.reduce((n, it) => n + it.counters.received, 0)).toBe(before);
  });

  it('the selector is judged before the path, the path before the match', async () => {
    const code = async (path: string): Promise<unknown> =>
      (await gateway.rl.ask(path, { body: {} })).json['error'];
    expect(await code('/engine/?selector=')).toBe('selector_required');
    expect(await code('/engine/?selector=engine%3Dvllm')).toBe('invalid_engine_path');
  });

  it.each([
    ['engine=sglang', 6],
    ['engine!=sglang', 0],
    ['engine in (sglang, vllm),group=second', 3],
    ['group notin (first)', 3],
    ['group!="second"', 3],
    ['missing!=x', 6],
    ['missing=x', 0],
    ['  group = first ,  health = ready  ', 3],
    ['model=mock-model', 6],
    ['control=active', 6],
    ['control=paused', 0],
  ])('[RL26] %s selects %i', async (selector, total) => {
    const got = await gateway.rl.fanout('health', selector, { method: 'GET', body: undefined });
    expect(got.status === 400 ? 0 : got.json['total']).toBe(total);
  });

  it('[RL27] [RL28] derived keys shadow labels, and follow the table', async () => {
    const spoof = await new MockEngine().start();
    await workersOf(gateway.url).added({
      url: spoof.url,
      labels: { engine: 'spoofed', control: 'asleep' },
    });
    for (const selector of ['engine=spoofed', 'control=asleep', 'weight_version=9']) {
      expect((await gateway.rl.fanout('health', selector)).json['error']).toBe('no_workers_match');
    }
    await gateway.rl.setVersion(spoof, '9');
    await gateway.rl.setControl(spoof, 'paused');
    for (const selector of ['control=paused', 'weight_version=9']) {
      const got = await gateway.rl.setFleetVersion('9', selector);
      expect(got.json).toMatchObject({ total: 1, workers: [{ base_url: spoof.url }] });
    }
    await workersOf(gateway.url).remove(await gateway.rl.id(spoof));
    await spoof.stop();
  });
});
