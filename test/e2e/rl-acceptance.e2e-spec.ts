import { Agent } from 'node:http';
import { MockEngine } from '@smg/testing';
import { send, type Answer } from '../support/http';
import { workersOf } from '../support/workers';
import { chat, generate } from './support/bodies';
import { generateAt, startAll, startRl, urlsOf, type RlGateway } from './support/rl';

/** The retry budget is the wait for a refit; values of the documented launch profile, scaled down. */
const PATIENT = { maxAttempts: 30, initialBackoffMs: 10, maxBackoffMs: 100 };

interface Load {
  readonly answers: readonly Answer[];
  stop(): Promise<void>;
}

/** Keeps `lanes` requests in flight, buffered and streamed in turn, until stopped. */
function startLoad(url: string, lanes: number): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const answers: Answer[] = [];
  let isOver = false;
  const lane = async (at: number): Promise<void> => {
    for (let i = at; !isOver; i += 1) {
      const body = i % 3 === 0 ? chat() : generate({ stream: i % 2 === 0 });
      const path = i % 3 === 0 ? '/v1/chat/completions' : '/generate';
      answers.push(await send(url + path, { agent, body }));
    }
  };
  const done = Promise.all(Array.from({ length: lanes }, (_, at) => lane(at)));
  return {
    answers,
    async stop() {
      isOver = true;
      await done;
      agent.destroy();
    },
  };
}

const workerOf = ({ headers }: Answer): string => String(headers['x-smg-routed-worker-id']);

/** Inference requests an engine got, whatever came of them. */
const servedBy = ({ counters }: MockEngine): number =>
  counters.of('/generate') + counters.of('/v1/chat/completions');

describe('acceptance of version-aware routing', () => {
  const engines = [new MockEngine({ tokens: 2 }), new MockEngine({ tokens: 2 })] as const;
  const [a, b] = engines;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeEach(async () => {
    stop = await startAll(...engines);
    gateway = await startRl(
      { rl: { versionPolicy: 'latest-only' }, retry: PATIENT, breaker: { disabled: true } },
      { engines },
    );
  });
  afterEach(async () => {
    await gateway.close();
    await stop();
    for (const engine of engines) {
      engine.state.resume();
      engine.state.restore(['weights', 'kv_cache', 'cuda_graph']);
      engine.behaveNormally();
    }
  });

  it('every answer is stamped once versioned, and none before', async () => {
    for (let i = 0; i < 10; i += 1) {
      expect((await generateAt(gateway)).headers['x-smg-weight-version']).toBeUndefined();
    }
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    const load = startLoad(gateway.url, 8);
    await a.waitUntil(() => load.answers.length >= 300);
    await load.stop();
    expect(load.answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(load.answers.filter(({ headers }) => headers['x-smg-weight-version'] !== '1')).toEqual(
      [],
    );
  });

  it('not one of 1,000 requests reaches the engine that is behind, under latest-only', async () => {
    await gateway.rl.setVersion(a, '3');
    await gateway.rl.setVersion(b, '2');
    const seen = servedBy(b);
    const load = startLoad(gateway.url, 16);
    await a.waitUntil(() => load.answers.length >= 1_000, 15_000);
    await load.stop();
    expect(load.answers.length).toBeGreaterThanOrEqual(1_000);
    expect(load.answers.filter((answer) => workerOf(answer) !== a.url)).toEqual([]);
    expect(load.answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(servedBy(b)).toBe(seen);
  });

  it('40 answers that span two versions are flagged, and no others', async () => {
    await gateway.rl.setFleetVersion('41', 'engine=sglang');
    for (const engine of engines) engine.weightVersion = '41';
    const before = await Promise.all(Array.from({ length: 10 }, () => generateAt(gateway)));
    const hold = { body: { mode: 'in_place' } };
    // Held in the middle of their generation, updated in place, then continued.
    const spanning = new MockEngine({ tokens: 6, tokenLatencyMs: 60, weightVersion: '41' });
    await spanning.start();
    await workersOf(gateway.url).added({ url: spanning.url });
    await gateway.rl.setVersion(spanning, '42');
    const asked = Array.from({ length: 40 }, () => generateAt(gateway));
    await spanning.waitUntil(
      () => [...spanning.state.running].filter(({ isAdmitted }) => isAdmitted).length === 40,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await gateway.rl.call(spanning, 'pause_generation', hold);
    await gateway.rl.call(spanning, 'update_weight_version', {
      body: { new_version: '43', abort_all_requests: false },
    });
    await gateway.rl.call(spanning, 'continue_generation');
    const during = await Promise.all(asked);
    const after = await Promise.all(Array.from({ length: 10 }, () => generateAt(gateway)));
    const spans = (answer: Answer): number => answer.json['meta_info'].weight_versions.length;
    const flagged = ({ headers }: Answer): boolean => headers['x-smg-mixed-version'] === 'true';
    expect(during.filter((answer) => spans(answer) === 2)).toHaveLength(40);
    expect(during.filter(flagged)).toHaveLength(40);
    expect([...before, ...after].filter((answer) => spans(answer) > 1 || flagged(answer))).toEqual(
      [],
    );
    await spanning.stop();
  });

  it.each([
    ['asleep by API', async () => gateway.rl.setControl(b, 'asleep')],
    ['asleep by an observed call', async () => gateway.rl.call(b, 'release_memory_occupation')],
    ['paused by API', async () => gateway.rl.setControl(b, 'paused')],
    ['paused by an observed call', async () => gateway.rl.call(b, 'pause_generation')],
  ])('an engine %s gets nothing while /workers says ready', async (_, close) => {
    await close();
    const seen = servedBy(b);
    const load = startLoad(gateway.url, 8);
    await a.waitUntil(() => load.answers.length >= 250);
    const { workers } = await workersOf(gateway.url).list();
    await load.stop();
    expect(workers.map(({ status }) => status)).toEqual(['ready', 'ready']);
    expect(load.answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(load.answers.filter((answer) => workerOf(answer) !== a.url)).toEqual([]);
    expect(servedBy(b)).toBe(seen);
  });

  it('rolling refits under load: no error, nothing stale, everything stamped', async () => {
    await gateway.rl.setFleetVersion('1', 'engine=sglang');
    const load = startLoad(gateway.url, 8);
    for (let version = 2; version <= 6; version += 1) {
      for (const engine of engines) {
        const from = load.answers.length;
        for (const [path, body] of [
          ['pause_generation', { mode: 'in_place' }],
          ['update_weights_from_disk', { model_path: '/ckpt', weight_version: String(version) }],
          ['continue_generation', {}],
        ] as const) {
          expect((await gateway.rl.call(engine, path, { body })).status).toBe(200);
        }
        await engine.waitUntil(() => load.answers.length >= from + 20);
      }
    }
    await load.stop();
    const { answers } = load;
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.filter(({ headers }) => headers['x-smg-weight-version'] === undefined)).toEqual(
      [],
    );
    expect(new Set(answers.map(workerOf))).toEqual(new Set(urlsOf(a, b)));
    // The version named at dispatch never falls once an answer with a later one was asked for after it.
    expect(answers.at(-1)?.headers['x-smg-weight-version']).toBe('6');
    const rows = await gateway.rl.rows();
    expect(rows.map(({ weight_version, control }) => [weight_version, control])).toEqual([
      ['6', 'active'],
      ['6', 'active'],
    ]);
    // Control calls never open a breaker and never count as load.
    const { workers } = await workersOf(gateway.url).list();
    expect(workers.map(({ load: inFlight }) => inFlight)).toEqual([0, 0]);
  });
});
