import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { workersOf } from '../support/workers';
import { sample } from './support/scrape';
import { generateAt, startAll, startRl, type RlGateway } from './support/rl';

describe('metrics and logs of the control plane', () => {
  const one = new MockEngine();
  const two = new MockEngine();
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startRl(
      { rl: { controlTimeoutSecs: 1 }, health: { checksDisabled: true } },
      { engines: [one, two] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });
  const calls = async (op: string, result: string): Promise<number> =>
    sample(await gateway.metrics(), 'smg_rl_control_calls_total', { op, result });

  it('there is no series before its first event', async () => {
    expect(await gateway.metrics()).not.toContain('smg_rl_');
  });

  it('[RL104] [RL105] every call is counted by operation and result; unknown operations are `other`', async () => {
    await gateway.rl.call(one, 'flush_cache');
    await gateway.rl.call(one, 'no/such/path');
    one.behave({ route: '/pause', delayMs: 3_000, times: 1 });
    await gateway.rl.call(one, 'pause');
    expect(await calls('flush_cache', 'ok')).toBe(1);
    expect(await calls('other', 'upstream_error')).toBe(1);
    expect(await calls('pause', 'timeout')).toBe(1);
    await two.stop();
    await gateway.rl.call(two, 'resume');
    await two.start();
    expect(await calls('resume', 'unreachable')).toBe(1);
    const page = await gateway.metrics();
    const name = 'smg_rl_control_call_duration_seconds_count';
    for (const op of ['flush_cache', 'other', 'pause', 'resume']) {
      expect([op, sample(page, name, { op })]).toEqual([op, 1]);
    }
  });

  it('[RL105] [RL106] fan-outs by result, with HELP and TYPE', async () => {
    await gateway.rl.fanout('flush_cache', 'engine=sglang');
    one.behave({ route: '/flush_cache', status: 400, times: 1 });
    await gateway.rl.fanout('flush_cache', 'engine=sglang');
    await gateway.rl.fanout('flush_cache', 'engine=none');
    await gateway.rl.fanout('flush_cache', 'engine==');
    await gateway.rl.fanout('', 'engine=sglang');
    const page = await gateway.metrics();
    const of = (result: string): number => sample(page, 'smg_rl_fanout_total', { result });
    expect([of('ok'), of('partial'), of('no_match')]).toEqual([1, 1, 1]);
    expect(sample(page, 'smg_rl_fanout_duration_seconds_count')).toBe(3);
    expect(page).toMatch(/^# HELP smg_rl_fanout_total \S/m);
    expect(page).toContain('# TYPE smg_rl_fanout_total counter');
  });

  it('[RL105] decision 14: gauges of version and state; text has no number', async () => {
    const worker = { worker: one.url };
    await gateway.rl.setVersion(one, '12');
    await gateway.rl.setControl(one, 'asleep');
    let page = await gateway.metrics();
    expect(sample(page, 'smg_rl_worker_weight_version', worker)).toBe(12);
    expect(sample(page, 'smg_rl_worker_control_state', worker)).toBe(2);
    await gateway.rl.setVersion(one, 'ckpt');
    await gateway.rl.setControl(one, 'active');
    page = await gateway.metrics();
    expect(page).not.toContain('smg_rl_worker_weight_version{');
    expect(sample(page, 'smg_rl_worker_control_state', worker)).toBe(0);
    expect(page).toContain(`smg_rl_worker_control_state{worker="${one.url}"} 0`);
  });

  it('[RL105] flagged answers are counted', async () => {
    await generateAt(gateway, {}, { mock_meta_info: { weight_versions: [{}, {}] } });
    expect(sample(await gateway.metrics(), 'smg_rl_mixed_version_total')).toBe(1);
  });

  it('section 11: what was called, fanned out and observed stands in the log', async () => {
    const from = gateway.logs.length;
    await gateway.rl.fanout('update_weight_version', `base_url=${one.url}`, {
      body: { new_version: '99' },
    });
    await gateway.rl.call(one, 'pause_generation');
    await gateway.rl.call(one, 'continue_generation');
    const lines = gateway.logs.slice(from).filter(({ target }) => target === 'smg_rl');
    const of = (msg: string) => lines.filter((line) => line['msg'] === msg);
    expect(of('rl.proxy')[0]).toMatchObject({
      level: 'info',
      worker_id: await gateway.rl.id(one),
      url: one.url,
      method: 'POST',
      path: 'update_weight_version',
      status: 200,
      latency_ms: expect.any(Number),
    });
    expect(of('rl.fanout')).toMatchObject([
      {
        path: 'update_weight_version',
        selector: `base_url=${one.url}`,
        total: 1,
        succeeded: 1,
        failed: 0,
        latency_ms: expect.any(Number),
      },
    ]);
    expect(of('rl.observe version')).toMatchObject([
      { base_url: one.url, version: '99', source: 'passthrough' },
    ]);
    expect(of('rl.observe control')).toMatchObject([
      { base_url: one.url, control: 'paused' },
      { base_url: one.url, control: 'active' },
    ]);
  });
});

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>;
}

describe('the documented statuses', () => {
  const engine = new MockEngine();
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl(
      { rl: { controlTimeoutSecs: 1 }, requests: { maxPayloadSize: 2_000 }, auth: { apiKey: 'k' } },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  interface ApiDocument {
    readonly paths: Readonly<Record<string, object>>;
    readonly components: { readonly schemas: Readonly<Record<string, object>> };
  }

  async function document(): Promise<ApiDocument> {
    const headers = { authorization: 'Bearer k' };
    const answer = await send(`${gateway.url}/openapi.json`, { method: 'GET', headers });
    return answer.json as ApiDocument;
  }

  /** Answers to credentials that this gateway does not know: roles, tokens, a record that must be kept. */
  const OF_OTHER_KEYS = ['403', '503'];

  /** Statuses that OpenAPI names, by operation; `default` stands for an engine's own. */
  async function documented(): Promise<Map<string, string[]>> {
    const { paths } = await document();
    const found = new Map<string, string[]>();
    for (const [path, item] of Object.entries(paths)) {
      if (!path.startsWith('/v1/rl')) continue;
      for (const [method, operation] of Object.entries(item as Record<string, Operation>)) {
        const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
        found.set(`${method.toUpperCase()} ${path}`, statuses.sort());
      }
    }
    return found;
  }

  it('are those that are produced, each of them, on every route', async () => {
    const id = (await workersOf(gateway.url, 'k').byUrl(engine.url)).id;
    const big = 'x'.repeat(2_001);
    const base = `/workers/${id}`;
    const produced = new Map<string, Set<number>>();
    const ask = async (
      route: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = { authorization: 'Bearer k' },
    ): Promise<void> => {
      const [method = ''] = route.split(' ');
      const { status } = await gateway.rl.ask(path, { method, headers, body });
      produced.set(route, (produced.get(route) ?? new Set()).add(status));
    };
    const common = async (route: string, path: string, body?: unknown): Promise<void> => {
      await ask(route, path, body);
      await ask(route, path, body, {});
      await ask(route, path, body, { authorization: 'Bearer k', 'x-smg-version-policy': '?' });
    };
    await common('GET /v1/rl/workers', '/workers');
    await common('GET /v1/rl/workers/{id}', base);
    await ask('GET /v1/rl/workers/{id}', '/workers/x');
    for (const [kind, good, bad] of [
      ['version', { weight_version: '1' }, { weight_version: 1 }],
      ['state', { control: 'active' }, { control: 1 }],
    ] as const) {
      await common(`POST /v1/rl/workers/{id}/${kind}`, `${base}/${kind}`, good);
      await ask(`POST /v1/rl/workers/{id}/${kind}`, `${base}/${kind}`, bad);
      await ask(`POST /v1/rl/workers/{id}/${kind}`, `/workers/x/${kind}`, good);
      await ask(`POST /v1/rl/workers/{id}/${kind}`, `${base}/${kind}`, big);
      await common(`POST /v1/rl/${kind}`, `/${kind}?selector=engine%3Dsglang`, good);
      await ask(`POST /v1/rl/${kind}`, `/${kind}?selector=engine%3Dnone`, good);
      await ask(`POST /v1/rl/${kind}`, `/${kind}`, big);
    }
    const gone = await new MockEngine().start();
    await workersOf(gateway.url, 'k').added({
      url: gone.url,
      health: { disable_health_check: true },
      labels: { gone: 'yes' },
    });
    const goneId = (await workersOf(gateway.url, 'k').byUrl(gone.url)).id;
    await gone.stop();
    engine.behave({ route: '/slow', delayMs: 3_000 });
    for (const method of ['GET', 'POST']) {
      const body = method === 'GET' ? undefined : {};
      const one = `${method} /v1/rl/workers/{id}/engine/*`;
      await common(one, `${base}/engine/flush_cache`, body);
      await ask(one, '/workers/x/engine/flush_cache', body);
      await ask(one, `/workers/${goneId}/engine/flush_cache`, body);
      await ask(one, `${base}/engine/slow`, body);
      await ask(one, `${base}/engine/flush_cache`, big);
      const many = `${method} /v1/rl/engine/*`;
      await common(many, '/engine/flush_cache?selector=gone%21%3Dyes', body);
      await ask(many, '/engine/flush_cache?selector=gone%3Dyes', body);
      await ask(many, '/engine/flush_cache?selector=gone%3Dyes', big);
    }
    const routes = await documented();
    // Workers that are not HTTP cannot be registered in this version; a unit test holds that answer.
    const unreachable = (route: string): string[] => (route.includes('id}/engine') ? ['422'] : []);
    const sets = [...routes].map(([route, statuses]) => [
      route.replace(/\{[^}]*path\}$/, '*'),
      statuses,
    ]);
    expect(sets.length).toBe(10);
    expect(
      Object.fromEntries(
        [...produced].map(([route, statuses]) => [
          route,
          [...[...statuses].map(String), ...unreachable(route), ...OF_OTHER_KEYS].sort(),
        ]),
      ),
    ).toEqual(Object.fromEntries(sets));
  });

  it('rows, reports, requests and errors have schemas of their own', async () => {
    const { components } = await document();
    expect(
      Object.keys(components.schemas)
        .filter((name) => name.startsWith('Rl'))
        .sort(),
    ).toEqual([
      'RlCallOutcome',
      'RlCapabilities',
      'RlError',
      'RlFailedCall',
      'RlFanoutResponse',
      'RlSetControlRequest',
      'RlSetVersionRequest',
      'RlWorkerEntry',
      'RlWorkersResponse',
    ]);
  });
});
