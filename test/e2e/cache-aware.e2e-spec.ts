import { MockEngine } from '@smg/testing';
import { Agent } from 'node:http';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { heldBytes } from './support/memory';
import { startRl, type RlGateway } from './support/rl';
import { sample } from './support/scrape';

const MIB = 2 ** 20;
const CLIENTS = 8;

/** Runs `count` jobs, a few at a time. */
async function inParallel(count: number, job: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** A gateway in front of engines, and who served what. */
class Fleet<G extends RunningGateway> {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });

  private constructor(
    readonly gateway: G,
    readonly engines: readonly MockEngine[],
  ) {}

  static async start<G extends RunningGateway>(
    count: number,
    boot: (engines: readonly MockEngine[]) => Promise<G>,
  ): Promise<Fleet<G>> {
    const engines = await Promise.all(
      Array.from({ length: count }, () => new MockEngine({ tokens: 1, keepRequests: 0 }).start()),
    );
    return new Fleet(await boot(engines), engines);
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    await this.gateway.close();
    await Promise.all(this.engines.map((engine) => engine.stop()));
  }

  /** Sends a prompt; returns the index of the engine that served it. */
  async ask(text: string): Promise<number> {
    const got = await send(`${this.gateway.url}/generate`, { body: { text }, agent: this.agent });
    expect(got.status).toBe(200);
    const url = got.headers['x-smg-routed-worker-id'];
    return this.engines.findIndex((engine) => engine.url === url);
  }

  async loads(): Promise<number[]> {
    const { workers } = await workersOf(this.gateway.url).list();
    return this.engines.map(({ url }) => workers.find((row) => row.url === url)?.load ?? -1);
  }
}

const GROUPS = 24;
const STEP = 15 * GROUPS;
const groupPrompt = (group: number) => `${group}: what group ${group} shares. `.repeat(40);

/** What engines have in their prefix caches: the beginnings of groups they have served. */
class Caches {
  private readonly held = new Map<number, Set<number>>();

  /** @returns whether it was a hit. */
  serve(engine: number, group: number): boolean {
    let groups = this.held.get(engine);
    if (groups === undefined) this.held.set(engine, (groups = new Set()));
    const isHit = groups.has(group);
    groups.add(group);
    return isHit;
  }

  groupsOf(engine: number): number[] {
    return [...(this.held.get(engine) ?? [])];
  }

  empty(engine: number): void {
    this.held.delete(engine);
  }
}

describe('cache_aware over a load of shared prefixes', () => {
  let fleet: Fleet<RlGateway>;
  let caches: Caches;
  let turn = 0;
  let served: number[];
  beforeEach(async () => {
    fleet = await Fleet.start(4, (engines) =>
      startRl({ routing: { policy: 'cache_aware' } }, { engines }),
    );
    for (const engine of fleet.engines) await fleet.gateway.rl.setVersion(engine, '1');
    caches = new Caches();
    served = [0, 0, 0, 0];
  });
  afterEach(() => fleet.stop());

  /** One training step. @returns the share of requests that met a cached beginning. */
  const step = async (): Promise<number> => {
    let hits = 0;
    await inParallel(STEP, async (at) => {
      const group = (at * 7) % GROUPS;
      const engine = await fleet.ask(`${groupPrompt(group)} question ${turn++}`);
      served[engine] = (served[engine] ?? 0) + 1;
      if (caches.serve(engine, group)) hits += 1;
    });
    return hits / STEP;
  };

  it('hits in more than 95 of 100 requests, all engines at work; none on one with new weights, and again two steps later', async () => {
    // The first requests of a group may overlap, and go to two engines.
    await step();
    expect(await step()).toBeGreaterThan(0.95);
    for (const count of served) expect(count).toBeGreaterThan(STEP / 10);

    // A request that runs while the weights change, so that the engine is the busiest.
    const flipped = served.indexOf(Math.max(...served));
    const engine = fleet.engines[flipped]!;
    const groups = caches.groupsOf(flipped);
    expect(groups.length).toBeGreaterThan(0);
    let release = (): void => undefined;
    const parked = new Promise<void>((resolve) => (release = resolve));
    const takeBack = engine.onRequest(({ route }) => (route === '/generate' ? parked : undefined));
    const pending = fleet.ask(`${groupPrompt(groups[0] ?? 0)} question ${turn++}`);
    await until('it runs', async () => (await fleet.loads())[flipped] === 1);
    const refit = await fleet.gateway.rl.call(engine, 'update_weights_from_disk', {
      body: { model_path: '/ckpt', weight_version: '2' },
    });
    expect(refit.status).toBe(200);
    caches.empty(flipped);

    // Not one goes there for the sake of what its cache had; its load is known as before.
    for (const group of groups) {
      const now = await fleet.ask(`${groupPrompt(group)} question ${turn++}`);
      expect(now).not.toBe(flipped);
      caches.serve(now, group);
    }
    expect((await fleet.loads())[flipped]).toBe(1);
    takeBack();
    release();
    expect(await pending).toBe(flipped);
    expect(await fleet.loads()).toEqual([0, 0, 0, 0]);

    await step();
    expect(await step()).toBeGreaterThan(0.95);
    expect(await fleet.loads()).toEqual([0, 0, 0, 0]);
  });

  it('spreads what a paused engine held evenly over the others, and gives it back', async () => {
    const prompt = groupPrompt(1);
    const home = await fleet.ask(prompt);
    await fleet.gateway.rl.setControl(fleet.engines[home]!, 'paused');
    let release = (): void => undefined;
    const parked = new Promise<void>((resolve) => (release = resolve));
    const hooks = fleet.engines.map((engine) =>
      engine.onRequest(({ route }) => (route === '/generate' ? parked : undefined)),
    );
    const pending: Promise<number>[] = [];
    for (let sent = 1; sent <= 6; sent += 1) {
      pending.push(fleet.ask(`${prompt} question ${turn++}`));
      await until('it was dispatched', async () => {
        const loads = await fleet.loads();
        return loads.reduce((a, b) => a + b) === sent;
      });
    }
    const expected = fleet.engines.map((_, at) => (at === home ? 0 : 2));
    expect(await fleet.loads()).toEqual(expected);
    for (const takeBack of hooks) takeBack();
    release();
    await Promise.all(pending);
    await fleet.gateway.rl.setControl(fleet.engines[home]!, 'active');
    expect(await fleet.ask(`${prompt} question ${turn++}`)).toBe(home);
  });
});

describe('[G61] cache_aware and the KV use that engines report', () => {
  const PROMPT = groupPrompt(0);

  async function hits(
    routing: NonNullable<PartialGatewayConfig['routing']>,
    reports: readonly [number, number],
  ): Promise<boolean> {
    const fleet = await Fleet.start(2, (engines) =>
      startGateway(
        { routing: { policy: 'cache_aware', loadMonitorIntervalSecs: 1, ...routing } },
        { engines },
      ),
    );
    try {
      const home = await fleet.ask(PROMPT);
      const [used, other] = reports;
      fleet.engines.forEach((engine, at) => {
        engine.state.reportedLoads = { token_usage: at === home ? used : other };
      });
      const asked = fleet.engines.map(({ counters }) => counters.of('/v1/loads'));
      // Where nobody goes by reports none is asked for: wait as long as one would take.
      const deadline = performance.now() + 2_500;
      await until('both were asked again', () => {
        const isAsked = fleet.engines.every(
          ({ counters }, at) => counters.of('/v1/loads') >= (asked[at] ?? 0) + 2,
        );
        return isAsked || performance.now() > deadline;
      });
      return (await fleet.ask(PROMPT)) === home;
    } finally {
      await fleet.stop();
    }
  }

  it('a spread above the threshold: by load alone, although the prompt is cached', async () => {
    expect(await hits({ balanceTokenUsageThreshold: 0.3 }, [0.9, 0.2])).toBe(false);
  });

  it('a spread below it: the holder', async () => {
    expect(await hits({ balanceTokenUsageThreshold: 0.3 }, [0.4, 0.2])).toBe(true);
  });

  it('a cache too full anywhere: by load alone', async () => {
    expect(await hits({ overloadTokenUsageThreshold: 0.8 }, [0.9, 0.2])).toBe(false);
  });

  it('by default never', async () => {
    expect(await hits({}, [1, 0])).toBe(true);
  });
});

describe('memory under streams of unique prompts', () => {
  const MAX_TREE = MIB / 8;
  /** Marks of a worker on an edge that any tree may have, and the quarter it may have between evictions. */
  const MAX_HOLDINGS = 4_096 * 1.25;

  it.each<[string, number, number, (at: number) => string]>([
    // Far more than the tree may hold, each of them.
    ['long ones', 100, 2 * MAX_TREE, (at) => `${at}`.padEnd(32 * 1024, 'x')],
    ['long ones outside ASCII', 80, 2 * MAX_TREE, (at) => `${at}`.padEnd(16 * 1024, '世')],
    ['of one character', 7_000, MAX_HOLDINGS + 300, (at) => String.fromCodePoint(0x4e00 + at)],
  ])(
    '%s: the tree stays at its bound, and so does the memory of the process',
    async (_, count, maxCharacters, promptOf) => {
      const fleet = await Fleet.start(2, (engines) =>
        startGateway(
          {
            routing: { policy: 'cache_aware', maxTreeSize: MAX_TREE },
            observability: { logLevel: 'error' },
          },
          { engines },
        ),
      );
      try {
        // Warm: code, pools and sockets are no matter here.
        await inParallel(200, async (at) => {
          await fleet.ask(`warm ${at}`);
        });
        const before = heldBytes();
        let most = 0;
        let largest = 0;
        const samples = 5;
        for (let part = 0; part < samples; part += 1) {
          const from = (part * count) / samples;
          await inParallel(count / samples, async (at) => {
            await fleet.ask(promptOf(from + at));
          });
          fleet.gateway.logs.length = 0;
          fleet.gateway.rawLogs.length = 0;
          most = Math.max(most, heldBytes() - before);
          const size = sample(await fleet.gateway.metrics(), 'smg_cache_tree_chars');
          largest = Math.max(largest, size);
        }
        expect(largest).toBeGreaterThan(maxCharacters / 4);
        expect(largest).toBeLessThan(maxCharacters);
        // Three bytes a character, some 600 bytes a mark, and what else the process needs meanwhile.
        expect(most).toBeLessThan(3 * 2 * MAX_TREE + 600 * MAX_HOLDINGS + 4 * MIB);
      } finally {
        await fleet.stop();
      }
    },
    60_000,
  );
});
