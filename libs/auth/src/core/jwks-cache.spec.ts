import { FakeClock } from '@smg/testing';
import { JwksCache, JwksError, type KeyTable } from './jwks-cache';
import { primeJwks } from './prime-jwks';

const TIMING = { ttlMs: 3_600_000, cooldownMs: 10_000, staleMs: 86_400_000 };

const tableOf = (...kids: string[]): KeyTable =>
  new Map(kids.map((kid) => [kid, [{ kid, alg: 'ES256', fingerprint: kid, material: 0 }]]));

/** An issuer that a test answers for, fetch by fetch. */
class Issuer {
  readonly clock = new FakeClock(1_000_000);
  readonly results: string[] = [];
  readonly said: string[] = [];
  fetches = 0;
  private pending: { resolve: (t: KeyTable) => void; reject: (e: Error) => void }[] = [];
  readonly cache = new JwksCache(
    {
      load: () => {
        this.fetches += 1;
        return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
      },
      now: this.clock.now,
      onFetch: (result) => this.results.push(result),
      onOutage: ({ result }) => this.said.push(`outage ${result}`),
      onRecovery: () => this.said.push('recovery'),
    },
    TIMING,
  );

  async answers(...kids: string[]): Promise<void> {
    for (const { resolve } of this.pending.splice(0)) resolve(tableOf(...kids));
    await this.clock.advanceAsync(0);
  }

  async fails(): Promise<void> {
    const error = new JwksError('status', 'status 500');
    for (const { reject } of this.pending.splice(0)) reject(error);
    await this.clock.advanceAsync(0);
  }

  async started(...kids: string[]): Promise<this> {
    const first = this.cache.refreshNow();
    await this.answers(...kids);
    await first;
    return this;
  }
}

describe('the keys of the issuer', () => {
  it('a known key never waits; old keys are fetched in the background', async () => {
    const issuer = await new Issuer().started('a');
    expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
    issuer.clock.advance(TIMING.ttlMs - 1);
    expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
    expect(issuer.fetches).toBe(1);
    issuer.clock.advance(1);
    expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
    expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
    expect(issuer.fetches).toBe(2);
    await issuer.answers('b');
    expect(issuer.cache.ageMs).toBe(0);
    // The key is gone from the set, and so soon after a fetch nobody asks again.
    expect(issuer.cache.lookUp('a')).toBe('unknown');
  });

  it('an unknown key costs one fetch per cooldown, shared by everyone who waits [R62]', async () => {
    const issuer = await new Issuer().started('a');
    expect(issuer.cache.lookUp('x')).toBe('unknown');
    issuer.clock.advance(TIMING.cooldownMs);
    const waiting = Array.from({ length: 1000 }, async (_, at) =>
      issuer.cache.lookUp(`b${at % 2}`),
    );
    expect(issuer.fetches).toBe(2);
    expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
    await issuer.answers('a', 'b1');
    const found = await Promise.all(waiting);
    expect(found.filter((one) => one === 'unknown')).toHaveLength(500);
    expect(found[1]).toMatchObject([{ kid: 'b1' }]);
    for (let second = 0; second < 50; second += 1) {
      void issuer.cache.lookUp(`random-${second}`);
      await issuer.answers('a', 'b1');
      issuer.clock.advance(1000);
    }
    expect(issuer.fetches).toBeLessThanOrEqual(2 + 5);
  });

  it('an outage keeps known keys for a day, warns once, and recovers [R64]', async () => {
    const issuer = await new Issuer().started('a');
    for (let minutes = 60; minutes <= 24 * 60; minutes += 1) {
      issuer.clock.advance(minutes === 60 ? 3_600_000 : 60_000);
      issuer.cache.refreshIfDue();
      await issuer.fails();
      expect(issuer.cache.lookUp('a')).toMatchObject([{ kid: 'a' }]);
      await issuer.fails();
    }
    expect(issuer.said).toEqual(['outage status']);
    issuer.clock.advance(60_000);
    const late = issuer.cache.lookUp('a');
    await issuer.fails();
    expect(await late).toBe('unavailable');
    expect(issuer.cache.lookUp('a')).toBe('unavailable');
    issuer.clock.advance(TIMING.cooldownMs);
    const back = issuer.cache.lookUp('a');
    await issuer.answers('a');
    expect(await back).toMatchObject([{ kid: 'a' }]);
    expect(issuer.said).toEqual(['outage status', 'recovery']);
    expect(new Set(issuer.results)).toEqual(new Set(['ok', 'status']));
  });

  it('an operator’s refresh ignores the cooldown, and fails without harm', async () => {
    const issuer = await new Issuer().started('a');
    const refresh = issuer.cache.refreshNow();
    await issuer.answers('b');
    await refresh;
    expect(issuer.cache.lookUp('b')).toMatchObject([{ kid: 'b' }]);
    const failing = expect(issuer.cache.refreshNow()).rejects.toThrow('status 500');
    await issuer.fails();
    await failing;
    expect(issuer.cache.lookUp('b')).toMatchObject([{ kid: 'b' }]);
  });

  it('an operator’s refresh is not served by a fetch that was under way', async () => {
    const issuer = await new Issuer().started('a');
    issuer.clock.advance(TIMING.cooldownMs);
    const waiting = issuer.cache.lookUp('b');
    const refresh = issuer.cache.refreshNow();
    await issuer.answers('a');
    expect(await waiting).toBe('unknown');
    await issuer.answers('b');
    await refresh;
    expect(issuer.fetches).toBe(3);
    expect(issuer.cache.lookUp('b')).toMatchObject([{ kid: 'b' }]);
  });
});

describe('the start', () => {
  const sleeps = (clock: FakeClock) => async (ms: number) => {
    clock.advance(ms);
    await Promise.resolve();
  };

  function cacheOf(clock: FakeClock, load: () => Promise<KeyTable>): JwksCache {
    const ignore = (): void => undefined;
    return new JwksCache(
      { load, now: clock.now, onFetch: ignore, onOutage: ignore, onRecovery: ignore },
      TIMING,
    );
  }

  it('waits for an issuer that is starting itself', async () => {
    const clock = new FakeClock();
    let tries = 0;
    const cache = cacheOf(clock, () => {
      tries += 1;
      return tries < 4
        ? Promise.reject(new JwksError('unreachable', 'ECONNREFUSED'))
        : Promise.resolve(tableOf('a'));
    });
    await primeJwks(cache, { now: clock.now, sleep: sleeps(clock) });
    expect(tries).toBe(4);
  });

  it('gives up after ten seconds, and at once where waiting cannot help', async () => {
    for (const [result, atLeast, atMost] of [
      ['unreachable', 5_000, 10_000],
      ['status', 5_000, 10_000],
      ['invalid', 0, 0],
      ['refused', 0, 0],
    ] as const) {
      const clock = new FakeClock();
      const cache = cacheOf(clock, () => Promise.reject(new JwksError(result, 'why it is so')));
      const start = primeJwks(cache, { now: clock.now, sleep: sleeps(clock) });
      await expect(start).rejects.toThrow(/--jwt-issuer: .* cannot be had: why it is so/);
      expect(clock.now()).toBeGreaterThanOrEqual(atLeast);
      expect(clock.now()).toBeLessThanOrEqual(atMost);
    }
  });
});
