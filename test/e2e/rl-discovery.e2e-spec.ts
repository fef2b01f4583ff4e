import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { startAll, startRl, urlsOf, type RlGateway } from './support/rl';

describe('discovery', () => {
  const one = new MockEngine();
  const two = new MockEngine();
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(one, two);
    gateway = await startRl({}, { engines: [one, two] });
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('[RL15] [RL16] lists the engines, sorted, with what is known of them', async () => {
    const { json, headers } = await gateway.rl.ask('/workers');
    expect(headers['content-type']).toContain('application/json');
    expect(json).toMatchObject({ protocol_version: 1, total: 2 });
    expect(json['workers'].map(({ base_url }: { base_url: string }) => base_url)).toEqual(
      urlsOf(one, two),
    );
    for (const row of json['workers']) {
      expect(row).toMatchObject({
        engine: 'sglang',
        tp_size: 1,
        dp_ranks: 1,
        health: 'ready',
        connection_mode: 'http',
        worker_type: 'regular',
        model_id: 'mock-model',
        capabilities: { source: 'static', pause_modes: ['abort', 'retract', 'in_place'] },
      });
      expect(row.id.length).toBeGreaterThanOrEqual(32);
    }
  });

  it('[RL22] [RL24] what is not known is null, never left out; `default` is no version', async () => {
    const row = await gateway.rl.row(one);
    expect(row).toMatchObject({
      role: null,
      weight_version: null,
      version_source: null,
      control: 'active',
      labels: { weight_version: 'default' },
    });
    expect(Object.keys(row)).toEqual([
      'id',
      'url',
      'base_url',
      'engine',
      'engine_version',
      'model_id',
      'worker_type',
      'connection_mode',
      'tp_size',
      'dp_size',
      'pp_size',
      'dp_ranks',
      'role',
      'health',
      'weight_version',
      'version_source',
      'control',
      'labels',
      'capabilities',
    ]);
  });

  it('[RL19] [RL21] one row by id; an unknown id is 404 with the id', async () => {
    const row = await gateway.rl.row(one);
    expect((await gateway.rl.ask(`/workers/${row['id']}`)).json).toEqual(row);
    const unknown = await gateway.rl.ask('/workers/no-such');
    expect([unknown.status, unknown.json]).toEqual([
      404,
      { error: 'worker_not_found', message: 'worker `no-such` not found', id: 'no-such' },
    ]);
  });

  it('[RL23] the table speaks, whatever the label says', async () => {
    await gateway.rl.setVersion(one, '9');
    await gateway.rl.setControl(one, 'paused');
    expect(await gateway.rl.row(one)).toMatchObject({
      weight_version: '9',
      version_source: 'api',
      control: 'paused',
      labels: { weight_version: 'default' },
      health: 'ready',
    });
  });

  it('[RL20] [RL109] labels: sizes that are no numbers are null, capabilities can be overridden', async () => {
    const third = await new MockEngine().start();
    await workersOf(gateway.url).added({
      url: third.url,
      labels: { tp_size: 'x', dp_size: ' 2 ', role: 'policy', 'rl.abort': 'yes', version: 'v9' },
    });
    expect(await gateway.rl.row(third)).toMatchObject({
      tp_size: null,
      dp_size: 2,
      engine_version: 'v9',
      role: 'policy',
      capabilities: { source: 'label', abort: false, flush_cache: true },
    });
    await third.stop();
  });
});

describe('discovery of data-parallel engines', () => {
  const engine = new MockEngine({ dpSize: 3 });
  let gateway: RlGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startRl(
      { workers: { dpAware: true }, health: { drainSettleSecs: 0 } },
      { engines: [engine], ready: 3 },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('[RL17] ranks collapse into the lowest one', async () => {
    const rows = await gateway.rl.rows();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ url: `${engine.url}@0`, base_url: engine.url, dp_ranks: 3 });
  });

  it("[RL19] any rank's id works, and the row is that rank's", async () => {
    const rank = await workersOf(gateway.url).byUrl(`${engine.url}@1`);
    const { json } = await gateway.rl.ask(`/workers/${rank.id}`);
    expect(json).toMatchObject({ id: rank.id, url: `${engine.url}@1`, dp_ranks: 3 });
  });

  it('[RL46] [RL56] a fan-out and a fleet write reach the engine once', async () => {
    const before = engine.counters.of('/flush_cache');
    const fan = await gateway.rl.fanout('flush_cache', 'engine=sglang');
    expect([fan.status, fan.json['total']]).toEqual([200, 1]);
    expect(engine.counters.of('/flush_cache') - before).toBe(1);
    const write = await gateway.rl.setFleetVersion('5', `base_url=${engine.url}`);
    expect(write.json).toMatchObject({ total: 1, workers: [{ dp_ranks: 3, weight_version: '5' }] });
  });

  it('[RL47] `url=<base>@0` selects exactly one', async () => {
    const fan = await gateway.rl.fanout('health', `url=${engine.url}@0`, {
      method: 'GET',
      body: undefined,
    });
    expect([fan.status, fan.json['total']]).toEqual([200, 1]);
    expect((await gateway.rl.fanout('health', `url=${engine.url}@1`)).status).toBe(400);
  });

  it('[RL100] the stamp has the rank, the version is that of the engine', async () => {
    await gateway.rl.setFleetVersion('6', `base_url=${engine.url}`);
    const got = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
    expect(got.headers['x-smg-routed-worker-id']).toMatch(/@[012]$/);
    expect(got.headers['x-smg-weight-version']).toBe('6');
  });

  it('[RL80] the entry stays until the last rank is gone', async () => {
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(`${engine.url}@0`)).id);
    await until('the rank is gone', async () => (await workers.list()).total === 2);
    expect(await gateway.rl.row(engine)).toMatchObject({ weight_version: '6', dp_ranks: 2 });
    for (const worker of (await workers.list()).workers) await workers.remove(worker.id);
    await until('all are gone', async () => (await workers.list()).total === 0);
    await workers.added({ url: engine.url });
    expect(await gateway.rl.row(engine)).toMatchObject({ weight_version: null });
  });
});
