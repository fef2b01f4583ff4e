import { connect } from 'node:net';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf, type WorkersClient } from '../support/workers';

/** Sent as these very bytes: spacing, big integers and unknown members must survive. */
const RAW = '{ "text" : "汉字",  "seed":9007199254740993, "sampling_params":{"temperature":0.70} }';

describe('[3.5] --dp-aware', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let workers: WorkersClient;
  beforeAll(async () => {
    engine = await new MockEngine({ dpSize: 3 }).start();
    gateway = await startGateway(
      {
        workers: { dpAware: true },
        routing: { policy: 'round_robin' },
        health: { checkIntervalSecs: 1, drainSettleSecs: 0 },
        retry: { maxAttempts: 2, initialBackoffMs: 1 },
        breaker: { failureThreshold: 2, timeoutSecs: 60 },
        requests: { timeoutSecs: 1 },
      },
      { engines: [engine], ready: 3 },
    );
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    await engine.stop();
    await gateway.close();
  });
  afterEach(() => {
    engine.behaveNormally();
  });

  it('makes a worker of every rank', async () => {
    const { workers: rows, total } = await workers.list();
    expect(total).toBe(3);
    expect(rows.map(({ url }) => url).sort()).toEqual([0, 1, 2].map((n) => `${engine.url}@${n}`));
    for (const row of rows) {
      expect(row).toMatchObject({
        dp_base_url: engine.url,
        dp_rank: Number(row.url.slice(-1)),
        dp_size: 3,
        status: 'ready',
      });
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(3);
  });

  it('adds data_parallel_rank to the body, every other byte untouched, and names the rank that served', async () => {
    const seen = new Set<number>();
    for (let i = 0; i < 6; i += 1) {
      const got = await send(`${gateway.url}/generate`, { body: RAW });
      expect(got.status).toBe(200);
      const sent = engine.requestsTo('/generate').at(-1);
      const rank = (sent?.json() as { data_parallel_rank: number }).data_parallel_rank;
      seen.add(rank);
      expect(got.headers['x-smg-routed-worker-id']).toBe(`${engine.url}@${rank}`);
      const text = sent?.body.toString() ?? '';
      const without = text.replace(
        new RegExp(`,?\\s*"data_parallel_rank"\\s*:\\s*${rank}\\s*,?`),
        '',
      );
      expect(without.trim()).toBe(RAW.trim());
      expect(sent?.values('content-length')).toEqual([String(Buffer.byteLength(text))]);
      // The rank is ours: nothing of it in the request line or the host.
      expect(sent?.path).toBe('/generate');
      expect(sent?.header('host')).toBe(`127.0.0.1:${engine.port}`);
    }
    expect([...seen].sort()).toEqual([0, 1, 2]);
  });

  it('replaces a rank the client wrote instead of adding a second', async () => {
    await send(`${gateway.url}/generate`, { body: '{"data_parallel_rank":7,"text":"x"}' });
    const text = engine.requestsTo('/generate').at(-1)?.body.toString() ?? '';
    expect(text.match(/data_parallel_rank/g)).toHaveLength(1);
    expect(text).not.toContain('7');
  });

  it('probes, flushes and asks for loads at the base URL, once per engine', async () => {
    const flushes = engine.counters.of('/flush_cache');
    const got = await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect(got.json).toMatchObject({ workers_flushed: 1, total_workers: 3 });
    expect(engine.counters.of('/flush_cache')).toBe(flushes + 1);
    expect((await send(`${gateway.url}/get_server_info`)).status).toBe(200);
    expect((await send(`${gateway.url}/get_loads`)).status).toBe(200);
    expect(engine.requests.filter(({ path }) => path.includes('@'))).toEqual([]);
  });

  it('[54] a wedged rank is ejected alone: its breaker opens, the others serve', async () => {
    const toRank2 = (): number =>
      engine.requestsTo('/generate').filter((it) => it.jsonObject()?.['data_parallel_rank'] === 2)
        .length;
    const ask = async (): Promise<number> =>
      (await send(`${gateway.url}/generate`, { body: '{"text":"x"}' })).status;
    const releases: (() => void)[] = [];
    const takeBack = engine.onRequest((request) => {
      if (request.jsonObject()?.['data_parallel_rank'] !== 2) return;
      return new Promise<void>((resolve) => releases.push(resolve));
    });
    try {
      // Each request that meets rank 2 runs into the deadline of one second and is tried elsewhere.
      for (let i = 0; i < 7; i += 1) expect(await ask()).toBe(200);
      const wedged = toRank2();
      for (let i = 0; i < 12; i += 1) expect(await ask()).toBe(200);
      expect(toRank2()).toBe(wedged);
      const page = await gateway.metrics();
      expect(page).toContain(`smg_worker_cb_state{worker="${engine.url}@2"} 1`);
      expect(page).toContain(`smg_worker_cb_state{worker="${engine.url}@0"} 0`);
      expect((await workers.byUrl(`${engine.url}@2`)).status).toBe('ready');
    } finally {
      takeBack();
      for (const release of releases) release();
    }
  });

  it('[3.2] PUT is refused: 400; PATCH and DELETE of one rank touch that rank alone', async () => {
    const { id } = await workers.byUrl(`${engine.url}@1`);
    const put = await send(`${gateway.url}/workers/${id}`, {
      method: 'PUT',
      body: { url: `${engine.url}@1` },
    });
    expect([put.status, put.json['code']]).toEqual([400, 'BAD_REQUEST']);
    await send(`${gateway.url}/workers/${id}`, { method: 'PATCH', body: { priority: 9 } });
    await until('patched', async () => (await workers.find(id)).priority === 9);
    expect((await workers.byUrl(`${engine.url}@0`)).priority).toBe(50);
    await workers.remove(id);
    await until('one rank less', async () => (await workers.list()).total === 2);
    const left = (await workers.list()).workers.map(({ url }) => url).sort();
    expect(left).toEqual([`${engine.url}@0`, `${engine.url}@2`]);
  });

  it('[56] a rank out of range fails its registration with a reason', async () => {
    const added = await send(`${gateway.url}/workers`, { body: { url: `${engine.url}@9` } });
    if (added.status === 400) return;
    expect(added.status).toBe(202);
    const id = added.json['worker_id'] as string;
    await until('it failed', async () => (await workers.find(id)).job_status?.status === 'failed');
    expect((await workers.find(id)).job_status?.message).toMatch(/rank 9/);
    expect((await workers.list()).workers.map(({ url }) => url)).not.toContain(`${engine.url}@9`);
  });

  it('[3.5] an engine that reports no dp_size cannot be added', async () => {
    const vllm = await new MockEngine({ kind: 'vllm' }).start();
    try {
      const added = await send(`${gateway.url}/workers`, { body: { url: vllm.url } });
      const id = added.json['worker_id'] as string;
      await until('it failed', async () => {
        return (await workers.find(id)).job_status?.status === 'failed';
      });
      expect((await workers.find(id)).job_status?.message).toContain('dp_size');
    } finally {
      await vllm.stop();
    }
  });
});

describe('[52][R52] worker URLs in every spelling', () => {
  let gateway: RunningGateway;
  let workers: WorkersClient;
  beforeAll(async () => {
    gateway = await startGateway({ health: { drainSettleSecs: 0 } });
    workers = workersOf(gateway.url);
  });
  afterAll(() => gateway.close());

  it('http://h:p@1 goes to h:p, and the rank stays in the identity', async () => {
    const engine = await new MockEngine({ dpSize: 2 }).start();
    try {
      await workers.added({ url: `${engine.url}@1` });
      const row = await workers.byUrl(`${engine.url}@1`);
      expect(row).toMatchObject({ dp_rank: 1, dp_base_url: engine.url });
      const got = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      expect(got.status).toBe(200);
      expect(got.headers['x-smg-routed-worker-id']).toBe(`${engine.url}@1`);
      const sent = engine.requestsTo('/generate').at(-1);
      expect(sent?.header('host')).toBe(`127.0.0.1:${engine.port}`);
      expect(sent?.jsonObject()?.['data_parallel_rank']).toBe(1);
      await workers.remove(row.id);
      await until('it is gone', async () => (await workers.list()).total === 0);
    } finally {
      await engine.stop();
    }
  });

  it('an IPv6 address needs its brackets, with a rank too, and is reached', async () => {
    if (!(await hasIpv6())) return;
    const engine = await new MockEngine({ host: '::1', dpSize: 2 }).start();
    try {
      const bare = await send(`${gateway.url}/workers`, {
        body: { url: `http://::1:${engine.port}` },
      });
      expect([bare.status, bare.json['code']]).toEqual([400, 'BAD_REQUEST']);
      const id = await workers.added({ url: `http://[0:0:0:0:0:0:0:1]:${engine.port}@1` });
      expect((await workers.find(id)).url).toBe(`http://[::1]:${engine.port}@1`);
      expect((await send(`${gateway.url}/generate`, { body: { text: 'x' } })).status).toBe(200);
      expect(engine.requestsTo('/generate').at(-1)?.header('host')).toBe(`[::1]:${engine.port}`);
      await workers.remove(id);
      await until('it is gone', async () => (await workers.list()).total === 0);
    } finally {
      await engine.stop();
    }
  });

  it('upper case, a trailing slash, a trailing dot and a default port are the same worker', async () => {
    const engine = await new MockEngine().start();
    try {
      const id = await workers.added({ url: `http://LOCALHOST:${engine.port}/` });
      expect((await workers.find(id)).url).toBe(`http://localhost:${engine.port}`);
      for (const host of ['localhost', 'LocalHost', 'localhost.']) {
        for (const end of ['', '/']) {
          const got = await send(`${gateway.url}/workers`, {
            body: { url: `http://${host}:${engine.port}${end}` },
          });
          expect([host, got.status]).toEqual([host, 409]);
        }
      }
      await workers.remove(id);
    } finally {
      await engine.stop();
    }
  });

  it('user names, passwords, queries and dot segments are refused and not repeated', async () => {
    const urls = [
      'http://user:canary-password@127.0.0.1:1',
      'http://canary-user@127.0.0.1:1',
      'http://127.0.0.1:1/?key=canary-query',
      'http://127.0.0.1:1/#canary',
      'http://127.0.0.1:1/../canary',
      'http://127.0.0.1:1/%2e%2e/canary',
      'http://127.0.0.1:99999',
      'http://user:canary-password@127.0.0.1:1@2',
    ];
    for (const url of urls) {
      const got = await send(`${gateway.url}/workers`, { body: { url } });
      expect([url, got.status]).toEqual([url, 400]);
      expect(got.text).not.toContain('canary');
    }
    expect(gateway.rawLogs.join('')).not.toContain('canary');
  });
});

function hasIpv6(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '::1', port: 9 });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED');
    });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
