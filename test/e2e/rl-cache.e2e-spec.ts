import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { startAll, startRl, type RlGateway } from './support/rl';

const PROMPTS = Array.from(
  { length: 20 },
  (_, at) => `${at} is the number of this task. ${'Think step by step. '.repeat(10)}`,
);
/** Requests per prompt that warm an engine: the other must stay the one served least for a step. */
const WARM_STEPS = 3;

/** Shares of one step over all prompts: how many went to the engine that holds them. */
async function hitRate(gateway: RlGateway, home: MockEngine): Promise<number> {
  let hits = 0;
  for (const text of PROMPTS) {
    const { status, headers } = await send(`${gateway.url}/generate`, { body: { text } });
    expect(status).toBe(200);
    if (String(headers['x-smg-routed-worker-id']).startsWith(home.url)) hits += 1;
  }
  return hits / PROMPTS.length;
}

describe.each([
  ['one worker', 1],
  ['two data-parallel ranks', 2],
])('[RL103] section 9: cached prefixes and weights, %s', (_, dpSize) => {
  const home = new MockEngine({ tokens: 1, dpSize });
  const other = new MockEngine({ tokens: 1 });
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeEach(async () => {
    stop = await startAll(home, other);
    gateway = await startRl(
      {
        routing: { policy: 'cache_aware' },
        workers: { dpAware: dpSize > 1 },
        health: { drainSettleSecs: 0 },
      },
      { engines: [home, other], ready: dpSize + 1 },
    );
    // Everything is warm at home, on each of its ranks; the other has served nothing.
    await gateway.rl.setVersion(home, '1');
    await gateway.rl.setVersion(other, '1');
    await gateway.rl.setControl(other, 'paused');
    for (let step = 0; step < WARM_STEPS; step += 1) {
      expect(await hitRate(gateway, home)).toBe(1);
    }
    await gateway.rl.setControl(other, 'active');
    expect(await hitRate(gateway, home)).toBe(1);
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
    home.behaveNormally();
  });

  const anyRank = async (): Promise<string> => {
    const { workers } = await workersOf(gateway.url).list();
    const ranks = workers.filter(({ url }) => url.startsWith(home.url));
    return ranks.at(-1)?.id ?? '';
  };
  const refit = (version: string) =>
    gateway.rl.call(home, 'update_weights_from_disk', {
      body: { model_path: '/ckpt', weight_version: version },
    });

  it.each<[string, () => Promise<unknown>]>([
    [
      'a write that names any of its ranks',
      async () =>
        gateway.rl.ask(`/workers/${await anyRank()}/version`, { body: { weight_version: '2' } }),
    ],
    ['a refit that passed through', () => refit('2')],
    ['a fleet write', () => gateway.rl.setFleetVersion('2', `base_url=${home.url}`)],
    [
      'a fan-out',
      () =>
        gateway.rl.fanout('update_weight_version', `base_url=${home.url}`, {
          body: { new_version: '2' },
        }),
    ],
  ])('%s: hit rate 1, then 0, then 1 a step later, and the load is remembered', async (_, flip) => {
    await flip();
    // Nothing is known any more, so each prompt goes to whoever served less: its load was kept.
    expect(await hitRate(gateway, home)).toBe(0);
    expect(await hitRate(gateway, other)).toBe(1);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['the version it has', () => gateway.rl.setVersion(home, '1')],
    ['the same number in another spelling', () => gateway.rl.setVersion(home, '01')],
    ['a refit to the version it has', () => refit('1')],
    [
      'a pause and its end',
      async () => {
        await gateway.rl.call(home, 'pause_generation', { body: { mode: 'in_place' } });
        await gateway.rl.call(home, 'continue_generation');
      },
    ],
    [
      'a sleep and its end',
      async () => {
        await gateway.rl.setControl(home, 'asleep');
        await gateway.rl.setControl(home, 'active');
      },
    ],
    ['new weights of the other engine', () => gateway.rl.setVersion(other, '2')],
    [
      'a refit that the engine refused',
      async () => {
        home.behave({ route: '/update_weights_from_disk', body: { success: false }, times: 1 });
        await refit('2');
      },
    ],
  ])('%s forgets nothing', async (_, act) => {
    await act();
    expect(await hitRate(gateway, home)).toBe(1);
  });
});

describe('cached prefixes and labels', () => {
  it('[RL71] [RL69] a new version label forgets what was cached, the first one does not', async () => {
    const [home, other] = [new MockEngine({ tokens: 1 }), new MockEngine({ tokens: 1 })];
    const stop = await startAll(home, other);
    const gateway = await startRl({
      routing: { policy: 'cache_aware' },
      health: { drainSettleSecs: 0 },
    });
    const workers = workersOf(gateway.url);
    const id = await workers.added({ url: home.url, labels: { weight_version: '1' } });
    for (let step = 0; step < WARM_STEPS; step += 1) await hitRate(gateway, home);
    await workers.added({ url: other.url, labels: { weight_version: '1' } });
    expect(await hitRate(gateway, home)).toBe(1);
    const body = { url: home.url, labels: { weight_version: '2' } };
    const put = await send(`${gateway.url}/workers/${id}`, { method: 'PUT', body });
    expect(put.status).toBe(202);
    await until('it has its new version', async () => {
      const row = await gateway.rl.row(home);
      return row['weight_version'] === '2' && row['version_source'] === 'registration';
    });
    expect(await hitRate(gateway, home)).toBe(0);
    await gateway.close();
    await stop();
  });
});
