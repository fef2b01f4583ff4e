import { MockEngine } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';

interface Fleet {
  readonly gateway: RunningGateway;
  readonly engines: readonly MockEngine[];
  /** Sends a completion; returns who served it. */
  readonly ask: (body?: object, headers?: Record<string, string>) => Promise<string>;
  /** Parks every completion until the returned function is called. */
  readonly park: () => () => void;
}

async function fleet(
  count: number,
  routing: NonNullable<PartialGatewayConfig['routing']>,
  test: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const engines = await Promise.all(Array.from({ length: count }, () => new MockEngine().start()));
  const gateway = await startGateway({ routing, health: { drainSettleSecs: 0 } }, { engines });
  const ask = async (body: object = {}, headers: Record<string, string> = {}): Promise<string> => {
    const got = await send(`${gateway.url}/v1/completions`, {
      headers,
      body: { model: 'mock-model', prompt: 'x', ...body },
    });
    expect(got.status).toBe(200);
    return String(got.headers['x-smg-routed-worker-id']);
  };
  const park = (): (() => void) => {
    let release = (): void => undefined;
    const parked = new Promise<void>((resolve) => (release = resolve));
    for (const engine of engines) {
      engine.onRequest((request) => (request.route === '/v1/completions' ? parked : undefined));
    }
    return release;
  };
  try {
    await test({ gateway, engines, ask, park });
  } finally {
    await gateway.close();
    await Promise.all(engines.map((it) => it.stop()));
  }
}

const KEY = 'x-smg-routing-key';
const many = (count: number) => Array.from({ length: count }, (_, i) => i);
const prompt = (i: number) => `${i * 7_919} is the number of this prompt, and the rest is the same`;

async function used(picks: readonly Promise<string>[]): Promise<number> {
  return new Set(await Promise.all(picks)).size;
}

describe('prefix_hash', () => {
  it('[G55] goes by the prompt, and by a routing key before it', async () => {
    await fleet(3, { policy: 'prefix_hash', prefixTokenCount: 16 }, async ({ ask }) => {
      expect(await used(many(6).map(() => ask({ prompt: prompt(1) })))).toBe(1);
      expect(await used(many(12).map((i) => ask({ prompt: prompt(i) })))).toBeGreaterThan(1);
      expect(await used(many(6).map((i) => ask({ prompt: prompt(i) }, { [KEY]: 'k' })))).toBe(1);
      const keys = many(12).map((i) => ask({ prompt: prompt(1) }, { [KEY]: `k${i}` }));
      expect(await used(keys)).toBeGreaterThan(1);
    });
  });
});

describe('manual', () => {
  it('[G56] each of five keys sticks to one worker; requests without a key are served', async () => {
    await fleet(3, { policy: 'manual' }, async ({ ask }) => {
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        const picks: string[] = [];
        for (let i = 0; i < 4; i += 1) picks.push(await ask({}, { [KEY]: key }));
        expect(new Set(picks).size).toBe(1);
      }
      for (let i = 0; i < 20; i += 1) await ask();
    });
  });

  it('[G57] min_group: nine keys at once are three per worker; one key at once is one worker', async () => {
    const routing = { policy: 'manual', assignmentMode: 'min_group' } as const;
    await fleet(3, routing, async ({ ask, park, gateway }) => {
      const release = park();
      const pending = many(9).map((i) => ask({}, { [KEY]: `k${i}` }));
      pending.push(...many(4).map(() => ask({}, { [KEY]: 'k0' })));
      await until('all are at the workers', async () => {
        const page = await gateway.metrics();
        const keys = [...page.matchAll(/smg_worker_routing_keys_active\{[^}]*\} (\d+)/g)];
        return keys.length === 3 && keys.every(([, count]) => count === '3');
      });
      release();
      const served = await Promise.all(pending);
      expect(new Set([served[0], ...served.slice(9)]).size).toBe(1);
      const page = await gateway.metrics();
      expect(page).toMatch(/smg_worker_routing_keys_active\{[^}]*\} 0/);
      expect(page).not.toMatch(/smg_worker_routing_keys_active\{[^}]*\} [1-9]/);
    });
  });
});

describe('consistent_hashing', () => {
  it('[92] keeps a session by whichever header is configured, and exactly', async () => {
    const routing = {
      policy: 'consistent_hashing',
      routingKeyHeaders: ['x-session-id', 'x-smg-routing-key'],
    };
    await fleet(3, routing, async ({ ask, gateway }) => {
      for (const name of ['X-Session-ID', KEY]) {
        expect(await used(many(5).map(() => ask({}, { [name]: 'session-7' })))).toBe(1);
      }
      const keys = many(24).map((i) => ask({}, { 'x-session-id': `session-${i}` }));
      expect(await used(keys)).toBe(3);
      expect(await gateway.metrics()).toContain(
        'smg_consistent_hashing_policy_branch_total{branch="routing_key_hit"} 34',
      );
    });
  });

  it('[G62] takes the target by index, or answers 503', async () => {
    await fleet(2, { policy: 'consistent_hashing' }, async ({ ask, gateway, engines }) => {
      const [first, second] = engines.map(({ url }) => url);
      const target = 'x-smg-target-worker';
      const picks = [await ask({}, { [target]: '0' }), await ask({}, { [target]: '1' })];
      expect(picks.sort()).toEqual([first, second].sort());
      const got = await send(`${gateway.url}/v1/completions`, {
        headers: { [target]: '2' },
        body: { model: 'mock-model', prompt: 'x' },
      });
      expect([got.status, got.headers['x-smg-error-code']]).toEqual([503, 'no_available_workers']);
    });
  });
});

describe('least_load', () => {
  it('[86] spreads a burst evenly while heads are slow', async () => {
    await fleet(4, { policy: 'least_load' }, async ({ ask, park, engines }) => {
      const release = park();
      const pending = many(32).map(() => ask());
      const counts = (): number[] => engines.map((it) => it.counters.of('/v1/completions'));
      await until('all were dispatched', () => counts().reduce((a, b) => a + b) === 32);
      release();
      await Promise.all(pending);
      expect(counts()).toEqual([8, 8, 8, 8]);
    });
  });
});

describe('sticky sessions', () => {
  const routing = { policy: 'round_robin', routingKeyOverride: true } as const;

  it('keep a conversation with its worker, turn after turn, by rid before the header', async () => {
    await fleet(3, routing, async ({ ask, gateway }) => {
      const home = await ask({ rid: 'conv_t0' });
      for (let turn = 1; turn < 6; turn += 1) {
        expect(await ask({ rid: `conv_t${turn}_r1` }, { [KEY]: `other-${turn}` })).toBe(home);
      }
      const byHeader = await ask({}, { [KEY]: 'session-1' });
      expect(await ask({ rid: 7 }, { [KEY]: 'session-1_r3' })).toBe(byHeader);
      const page = await gateway.metrics();
      expect(page).toContain('smg_routing_key_source_total{source="rid"} 6');
      expect(page).toContain('smg_routing_key_source_total{source="header"} 2');
      expect(page).toContain('smg_manual_policy_cache_entries 2');
    });
  });

  it('put at most two requests of a key on one worker', async () => {
    await fleet(3, routing, async ({ ask, park, engines }) => {
      const release = park();
      const pending = many(6).map((i) => ask({ rid: `conv_t${i}` }));
      const counts = (): number[] => engines.map((it) => it.counters.of('/v1/completions'));
      await until('all were dispatched', () => counts().reduce((a, b) => a + b) === 6);
      expect(counts()).toEqual([2, 2, 2]);
      release();
      await Promise.all(pending);
    });
  });

  it('outlive a worker: the conversation moves and stays', async () => {
    await fleet(4, routing, async ({ ask, engines }) => {
      const home = await ask({ rid: 'conv' });
      await engines.find(({ url }) => url === home)?.stop();
      const next = await ask({ rid: 'conv' });
      expect(next).not.toBe(home);
      for (let i = 0; i < 4; i += 1) expect(await ask({ rid: 'conv' })).toBe(next);
    });
  });

  it('are off by default: the policy alone decides', async () => {
    await fleet(2, { policy: 'round_robin' }, async ({ ask, gateway }) => {
      expect(await ask({ rid: 'conv' })).not.toBe(await ask({ rid: 'conv' }));
      expect(await gateway.metrics()).not.toContain('smg_routing_key_source_total{');
    });
  });
});
