import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

interface Fleet {
  readonly gateway: RunningGateway;
  readonly engines: readonly MockEngine[];
  /** Sends a completion; returns who served it. */
  readonly ask: (prompt: string, headers?: Record<string, string>) => Promise<string>;
  readonly served: () => number[];
}

async function fleet(
  count: number,
  routing: NonNullable<PartialGatewayConfig['routing']>,
  test: (fleet: Fleet) => Promise<void>,
  { silent = false, ...engine }: MockEngineOptions & { readonly silent?: boolean } = {},
): Promise<void> {
  const engines = await Promise.all(
    Array.from({ length: count }, () => new MockEngine(engine).start()),
  );
  let wakeUp = (): void => undefined;
  const asleep = new Promise<void>((resolve) => (wakeUp = resolve));
  // A silent engine never answers the question for its load.
  for (const it of silent ? engines : []) {
    it.onRequest((request) => (request.route === '/v1/loads' ? asleep : undefined));
  }
  const gateway = await startGateway({ routing, health: { drainSettleSecs: 0 } }, { engines });
  const ask = async (prompt: string, headers: Record<string, string> = {}): Promise<string> => {
    const got: Answer = await send(`${gateway.url}/v1/completions`, {
      headers,
      body: { model: 'mock-model', prompt },
    });
    expect(got.status).toBe(200);
    return String(got.headers['x-smg-routed-worker-id']);
  };
  const served = (): number[] => engines.map((it) => it.counters.of('/v1/completions'));
  try {
    await test({ gateway, engines, ask, served });
  } finally {
    wakeUp();
    await gateway.close();
    await Promise.all(engines.map((it) => it.stop()));
  }
}

/** Prompts without a common prefix. */
const PROMPTS = ['alpha beta', 'bravo two', 'charlie 3', 'delta', 'echo echo', 'foxtrot'];
const LONG = 'You are a helpful assistant. Answer in one word: what is the capital of Norway?';

describe('simple policies', () => {
  it('[G51] round_robin: 30 requests over three workers are ten each', async () => {
    await fleet(3, { policy: 'round_robin' }, async ({ ask, served }) => {
      for (let i = 0; i < 30; i += 1) await ask('x');
      expect(served()).toEqual([10, 10, 10]);
    });
  });

  it.each(['random', 'power_of_two'])(
    '[G51] %s: all 200, and everybody gets some',
    async (policy) => {
      await fleet(3, { policy }, async ({ ask, served }) => {
        for (let i = 0; i < 60; i += 1) await ask('x');
        expect(served().reduce((sum, it) => sum + it)).toBe(60);
        // The chance that one of three gets none of 60 is below 1e-10.
        expect(Math.min(...served())).toBeGreaterThan(0);
      });
    },
  );

  it('passthrough: always the first that is available', async () => {
    await fleet(2, { policy: 'passthrough' }, async ({ ask }) => {
      const first = await ask('a');
      for (const prompt of PROMPTS) expect(await ask(prompt)).toBe(first);
    });
  });

  it('power_of_two: a busy worker gets less than an idle one, while engines report no load', async () => {
    const test = async ({ ask, engines, served }: Fleet): Promise<void> => {
      const [busy] = engines;
      let release = (): void => undefined;
      const parked = new Promise<void>((resolve) => (release = resolve));
      busy?.onRequest((request) => (request.route === '/v1/completions' ? parked : undefined));
      const pending: Promise<string>[] = [];
      for (let i = 0; i < 30; i += 1) {
        pending.push(ask('x'));
        await new Promise(setImmediate);
      }
      await until('all were dispatched', () => served().reduce((a, b) => a + b) === 30);
      release();
      await Promise.all(pending);
      expect(served()[0]).toBeLessThan(served()[1] ?? 0);
    };
    await fleet(2, { policy: 'power_of_two' }, test, { silent: true });
  });
});

describe('cache_aware', () => {
  it('[G52] the same prompt five times goes to one worker', async () => {
    await fleet(3, { policy: 'cache_aware' }, async ({ ask, served }) => {
      for (let i = 0; i < 5; i += 1) await ask(LONG);
      expect(served().sort()).toEqual([0, 0, 5]);
    });
  });

  it('[G52] six prompts without a shared prefix use more than one of three idle workers', async () => {
    await fleet(3, { policy: 'cache_aware' }, async ({ ask }) => {
      const used = new Set<string>();
      for (const prompt of PROMPTS) used.add(await ask(prompt));
      expect(used.size).toBeGreaterThan(1);
    });
  });

  it('[G58] a repeated prefix stays; a new one goes to the worker that has processed less', async () => {
    await fleet(2, { policy: 'cache_aware' }, async ({ ask }) => {
      const home = await ask(LONG);
      expect(await ask(`${LONG} And of Sweden?`)).toBe(home);
      expect(await ask('entirely different')).not.toBe(home);
      expect(await ask(LONG)).toBe(home);
    });
  });

  it('[G53] a token hint decides: six different prompts with one hint go to one worker', async () => {
    await fleet(3, { policy: 'cache_aware' }, async ({ ask }) => {
      const hint = Array.from({ length: 32 }, (_, at) => 1000 + at).join(',');
      const used = new Set<string>();
      for (const prompt of PROMPTS) used.add(await ask(prompt, { 'x-smg-routing-tokens': hint }));
      expect(used.size).toBe(1);
    });
  });

  it('[G54] hints nobody can use are ignored, never refused', async () => {
    await fleet(2, { policy: 'cache_aware' }, async ({ ask, engines }) => {
      const hints: Record<string, string>[] = [
        { 'x-smg-routing-tokens': '1,not-a-number,3' },
        { 'x-smg-routing-tokens': '-5,3' },
        { 'x-smg-routing-tokens': Array.from({ length: 513 }, () => '1').join(',') },
        { 'x-smg-routing-tokens': '4294967296' },
        { 'x-smg-routing-tokens': ' 1, 2' },
        { 'x-smg-routing-tokens': '' },
        { 'x-smg-routing-key': 'k'.repeat(129) },
        { 'x-smg-routing-key': 'käse' },
      ];
      for (const headers of hints)
        expect(engines.map(({ url }) => url)).toContain(await ask('x', headers));
    });
  });

  it('[G59] spills only when the holder exceeds both margins; then the prefix has a second holder', async () => {
    const routing = { policy: 'cache_aware', balanceAbsThreshold: 3, balanceRelThreshold: 1.1 };
    await fleet(2, routing, async ({ ask, engines, served }) => {
      const home = await ask(LONG);
      const at = engines.findIndex(({ url }) => url === home);
      let release = (): void => undefined;
      const parked = new Promise<void>((resolve) => (release = resolve));
      for (const engine of engines) {
        engine.onRequest((it) => (it.route === '/v1/completions' ? parked : undefined));
      }
      const pending: Promise<string>[] = [];
      const push = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i += 1) {
          const before = served().reduce((a, b) => a + b);
          pending.push(ask(LONG));
          await until('it was dispatched', () => served().reduce((a, b) => a + b) === before + 1);
        }
      };
      // Mean 3 at six in flight on one of two: 6 > 3 × 1.1, but not above 3 + 3.
      await push(6);
      expect(served()[at]).toBe(7);
      // Seven are above both margins; the eighth request is the first that sees them.
      await push(2);
      expect(served()[1 - at]).toBe(1);
      release();
      await Promise.all(pending);
      const holders = new Set<string>();
      for (let i = 0; i < 24; i += 1) holders.add(await ask(LONG));
      expect(holders.size).toBe(2);
    });
  });

  it('[G60][47] removing and re-adding a worker leaves no stale affinity: 100 keyed requests, each to a valid worker', async () => {
    await fleet(3, { policy: 'cache_aware' }, async ({ ask, engines, gateway, served }) => {
      const workers = workersOf(gateway.url);
      const prompts = Array.from({ length: 20 }, (_, at) => `${at} ${LONG}`);
      for (const prompt of prompts) await ask(prompt);
      const gone = engines[0]!;
      const row = await workers.byUrl(gone.url);
      // Replaced in place: its id and the worker stay, and so may its prefixes.
      await send(`${gateway.url}/workers/${row.id}`, {
        method: 'PUT',
        body: { url: gone.url, priority: 7 },
      });
      await until('replaced', async () => (await workers.find(row.id)).priority === 7);
      for (const prompt of prompts) await ask(prompt);

      await workers.remove(row.id);
      await workers.untilCount(2);
      const before = served()[0];
      const valid = engines.slice(1).map(({ url }) => url);
      for (let i = 0; i < 100; i += 1) expect(valid).toContain(await ask(prompts[i % 20] ?? ''));
      expect(served()[0]).toBe(before);

      await workers.added({ url: gone.url });
      const all = engines.map(({ url }) => url);
      for (let i = 0; i < 100; i += 1) expect(all).toContain(await ask(prompts[i % 20] ?? ''));
    });
  });

  it('keeps an unready holder out of it: the prompt moves, and comes back or stays, always 200', async () => {
    await fleet(2, { policy: 'cache_aware' }, async ({ ask, engines }) => {
      const home = await ask(LONG);
      const holder = engines.find(({ url }) => url === home);
      holder?.crash();
      const now = await ask(LONG);
      expect(now).not.toBe(home);
      await holder?.start();
    });
  });
});

describe('a policy of its own for a model', () => {
  it('[G63] the label of the first worker decides, later ones are ignored, the last to leave ends it', async () => {
    const [one, two] = [await new MockEngine().start(), await new MockEngine().start()];
    const gateway = await startGateway({
      routing: { policy: 'round_robin' },
      health: { drainSettleSecs: 0 },
    });
    const workers = workersOf(gateway.url);
    const ask = async (): Promise<string> => {
      const got = await send(`${gateway.url}/v1/completions`, {
        body: { model: 'mock-model', prompt: LONG },
      });
      return String(got.headers['x-smg-routed-worker-id']);
    };
    const used = async (): Promise<number> => {
      const seen = new Set<string>();
      for (let i = 0; i < 6; i += 1) seen.add(await ask());
      return seen.size;
    };
    try {
      const first = await workers.added({ url: one.url, labels: { policy: 'cache_aware' } });
      const second = await workers.added({ url: two.url, labels: { policy: 'round_robin' } });
      expect(await used()).toBe(1);
      await workers.remove(first);
      await workers.remove(second);
      await workers.untilCount(0);
      // Everything of it is forgotten: the next first worker decides anew.
      await workers.added({ url: one.url });
      await workers.added({ url: two.url, labels: { policy: 'cache_aware' } });
      expect(await used()).toBe(2);
      expect(await gateway.metrics()).toMatch(
        /smg_worker_selection_total\{[^}]*policy="cache_aware"/,
      );
    } finally {
      await gateway.close();
      await Promise.all([one.stop(), two.stop()]);
    }
  });
});

describe('load', () => {
  it('[G64] is 1 while a request is parked at the worker, under random, and 0 after its body', async () => {
    await fleet(1, { policy: 'random' }, async ({ ask, engines, gateway }) => {
      const workers = workersOf(gateway.url);
      let release = (): void => undefined;
      const parked = new Promise<void>((resolve) => (release = resolve));
      const takeBack = engines[0]?.onRequest((it) =>
        it.route === '/v1/completions' ? parked : undefined,
      );
      const pending = ask('x');
      await until('it is in flight', async () => (await workers.list()).workers[0]?.load === 1);
      expect(await gateway.metrics()).toMatch(/smg_worker_requests_active\{[^}]*\} 1/);
      release();
      await pending;
      takeBack?.();
      expect((await workers.list()).workers[0]?.load).toBe(0);
      expect(await gateway.metrics()).toMatch(/smg_worker_requests_active\{[^}]*\} 0/);
    });
  });
});
