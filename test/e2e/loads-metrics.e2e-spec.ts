import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { sample } from './support/scrape';

const KEY = 'canary-engine-key';
const PREFILL = {
  num_running_reqs: 2,
  num_waiting_reqs: 3,
  token_usage: 0.5,
  gen_throughput: 100,
  disaggregation: { mode: 'prefill', kv_transfer_latency_ms: 12.5 },
};

let gateway: RunningGateway;
let engines: [MockEngine, MockEngine];

beforeEach(async () => {
  engines = [
    new MockEngine({ apiKey: KEY, dpSize: 2 }),
    new MockEngine({ apiKey: KEY, kind: 'vllm' }),
  ];
  await Promise.all(engines.map((engine) => engine.start()));
  const config = {
    auth: { apiKey: KEY },
    routing: { engineMetrics: true, loadMonitorIntervalSecs: 1 },
    health: { drainSettleSecs: 0 },
  };
  gateway = await startGateway(config, { engines });
});

afterEach(async () => {
  await gateway.close();
  await Promise.all(engines.map((engine) => engine.stop()));
});

const scrape = () => send(`${gateway.url}/engine_metrics`);

describe('smg_engine_* metrics', () => {
  it('[row 115] show what engines report, per worker and rank, until the worker goes', async () => {
    const [sglang, vllm] = engines;
    sglang.state.reportedLoads = [PREFILL, { num_running_reqs: 7 }];
    vllm.state.reportedLoads = { num_waiting_reqs: 4 };
    await until('both reports arrived', async () => {
      const page = await gateway.metrics();
      const [a, b] = [
        { worker: sglang.url, dp_rank: '1' },
        { worker: vllm.url, dp_rank: '0' },
      ];
      return (
        sample(page, 'smg_engine_running_requests', a) === 7 &&
        sample(page, 'smg_engine_waiting_requests', b) === 4
      );
    });
    const page = await gateway.metrics();
    const latency = page
      .split('\n')
      .find((line) => line.startsWith('smg_engine_pd_kv_transfer_latency_ms{'));
    expect(latency).toBe(
      `smg_engine_pd_kv_transfer_latency_ms{worker="${sglang.url}",role="prefill",dp_rank="0"} 12.5`,
    );
    expect(page).not.toContain('smg_allocator_');
    expect(page).not.toContain(`smg_engine_gen_throughput{worker="${vllm.url}"`);
    const workers = workersOf(gateway.url, KEY);
    await workers.remove((await workers.byUrl(sglang.url)).id);
    await workers.untilCount(1);
    const after = await gateway.metrics();
    expect(after.split('\n').filter((line) => line.includes(sglang.url))).toEqual([]);
    expect(after).toContain(vllm.url);
  });
});

describe('GET /engine_metrics', () => {
  it('[row 114] is one page of every engine, for everybody', async () => {
    const [sglang, vllm] = engines;
    sglang.state.reportedLoads = PREFILL;
    const got = await scrape();
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = got.text.split('\n');
    expect(lines.filter((line) => line === '# TYPE sglang_num_running_reqs gauge')).toHaveLength(1);
    for (const rank of [0, 1]) {
      expect(lines).toContain(
        `sglang_num_running_reqs{dp_rank="${rank}",model_name="mock-model",worker_addr="${sglang.url}"} 2`,
      );
    }
    expect(lines).toContain(
      `vllm_num_requests_running{engine="0",model_name="mock-model",worker_addr="${vllm.url}"} 0`,
    );
    expect(got.text).not.toContain(KEY);
    expect((await send(`${gateway.url}/engine_metrics`, { method: 'HEAD' })).status).toBe(200);
    expect((await send(`${gateway.url}/engine_metrics`, { body: {} })).status).toBe(405);
  });

  it('goes on without an engine that is gone or talks nonsense, and says when all are gone', async () => {
    const [sglang, vllm] = engines;
    sglang.behave({ route: '/metrics', body: '<html>' });
    expect((await scrape()).text).toContain(vllm.url);
    await new Promise((resolve) => setTimeout(resolve, 1050));
    sglang.behave({ route: '/metrics', cut: { at: 'request', how: 'reset' } });
    const half = await scrape();
    expect([half.status, half.text.includes(sglang.url)]).toEqual([200, false]);
    await vllm.stop();
    await new Promise((resolve) => setTimeout(resolve, 1050));
    const none = await scrape();
    expect([none.status, none.text]).toEqual([500, 'All backend requests failed']);
  });

  it('says when there is no engine', async () => {
    const empty = await startGateway();
    try {
      const got = await send(`${empty.url}/engine_metrics`);
      expect([got.status, got.text]).toEqual([500, 'No available workers']);
    } finally {
      await empty.close();
    }
  });
});

describe('GET /get_loads', () => {
  it('[row 97] is asked of the engines now: used tokens, or -1, and the document', async () => {
    const [sglang, vllm] = engines;
    sglang.state.reportedLoads = [{ num_used_tokens: 30 }, { num_used_tokens: 12 }];
    const headers = { authorization: `Bearer ${KEY}` };
    const got = await send(`${gateway.url}/get_loads`, { headers });
    expect(got.status).toBe(200);
    const rows = got.json['workers'] as { worker: string; load: number; details: object }[];
    const rowOf = (url: string) => rows.find((row) => row.worker === url);
    expect(rowOf(sglang.url)).toMatchObject({ load: 42, details: { dp_rank_count: 2 } });
    expect(rowOf(vllm.url)).toMatchObject({
      load: -1,
      details: { loads: [{ num_running_reqs: 0, num_waiting_reqs: 0 }] },
    });
  });
});
