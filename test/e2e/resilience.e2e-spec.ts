import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { type PartialGatewayConfig } from '../../src';

/** Boots engines, the first `failing` of which answer 500, and a gateway in front of them. */
async function fleet(
  failing: number,
  good: number,
  config: PartialGatewayConfig,
  test: (gateway: RunningGateway, engines: MockEngine[]) => Promise<void>,
): Promise<void> {
  const engines = await Promise.all(
    Array.from({ length: failing + good }, (_, at) =>
      new MockEngine({ failRate: at < failing ? 1 : 0 }).start(),
    ),
  );
  const gateway = await startGateway(
    { ...config, routing: { policy: 'round_robin', ...config.routing } },
    { engines },
  );
  try {
    await test(gateway, engines);
  } finally {
    await gateway.close();
    await Promise.all(engines.map((engine) => engine.stop()));
  }
}

const ask = (gateway: RunningGateway): Promise<Answer> =>
  send(`${gateway.url}/generate`, { body: { text: 'x' } });
const attempts = (engines: readonly MockEngine[]): number[] =>
  engines.map((engine) => engine.counters.of('/generate'));

describe('retries', () => {
  it('[G69] one failing and one good worker, 3 attempts: every request is 200', async () => {
    await fleet(1, 1, { retry: { maxAttempts: 3, initialBackoffMs: 1 } }, async (gateway) => {
      for (let i = 0; i < 8; i += 1) expect((await ask(gateway)).status).toBe(200);
    });
  });

  it('[G69] two failing and one good worker, 5 attempts: 200', async () => {
    await fleet(2, 1, { retry: { maxAttempts: 5, initialBackoffMs: 1 } }, async (gateway) => {
      for (let i = 0; i < 8; i += 1) expect((await ask(gateway)).status).toBe(200);
    });
  });

  it('[G70] --disable-retries: the 500 of the one worker, after one attempt', async () => {
    await fleet(1, 0, { retry: { disabled: true } }, async (gateway, engines) => {
      expect((await ask(gateway)).status).toBe(500);
      expect(attempts(engines)).toEqual([1]);
    });
  });

  it('[G70] two attempts at one failing worker: its last answer, after a back-off', async () => {
    const retry = { maxAttempts: 2, initialBackoffMs: 200, jitterFactor: 0 };
    await fleet(1, 0, { retry }, async (gateway, engines) => {
      const from = performance.now();
      const got = await ask(gateway);
      expect(performance.now() - from).toBeGreaterThan(190);
      expect([500, 503]).toContain(got.status);
      expect(attempts(engines)).toEqual([2]);
      expect(got.headers['x-smg-routed-worker-id']).toBe(engines[0]?.url);
    });
  });

  it('[5.7] pauses grow by the multiplier up to the maximum', async () => {
    const retry = {
      maxAttempts: 4,
      initialBackoffMs: 60,
      backoffMultiplier: 2,
      maxBackoffMs: 120,
      jitterFactor: 0,
    };
    await fleet(1, 0, { retry }, async (gateway, engines) => {
      await ask(gateway);
      const at = engines[0]?.requestsTo('/generate').map((request) => request.at) ?? [];
      const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
      expect(pauses).toHaveLength(3);
      [60, 120, 120].forEach((least, index) => {
        expect(pauses[index]).toBeGreaterThanOrEqual(least - 3);
      });
    });
  });

  it('[5.7] statuses outside the retryable ones are final', async () => {
    const retry = { maxAttempts: 5, initialBackoffMs: 1 };
    await fleet(0, 1, { retry }, async (gateway, engines) => {
      for (const status of [400, 404, 422, 501]) {
        engines[0]?.behave({ route: '/generate', status, times: 1 });
        expect((await ask(gateway)).status).toBe(status);
      }
      expect(attempts(engines)).toEqual([4]);
      for (const status of [408, 429, 500, 502, 503, 504]) {
        engines[0]?.behave({ route: '/generate', status, times: 1 });
        expect([status, (await ask(gateway)).status]).toEqual([status, 200]);
      }
    });
  });
});

describe('the circuit breaker', () => {
  it('[G71] opens after three failures: 500s, then 503', async () => {
    const config = { retry: { disabled: true }, breaker: { failureThreshold: 3, timeoutSecs: 60 } };
    await fleet(1, 0, config, async (gateway, engines) => {
      const got: number[] = [];
      for (let i = 0; i < 6; i += 1) got.push((await ask(gateway)).status);
      expect(got).toEqual([500, 500, 500, 503, 503, 503]);
      expect(attempts(engines)).toEqual([3]);
      const refused = await ask(gateway);
      expect(refused.json['error']).toMatchObject({ code: 'no_available_workers', param: null });
      expect(refused.headers['x-smg-routed-worker-id']).toBeUndefined();
      const page = await gateway.metrics();
      expect(page).toContain(`smg_worker_cb_state{worker="${engines[0]?.url}"} 1`);
    });
  });

  it('[G71] switched off, and no retries: always the 500 of the engine', async () => {
    const config = { retry: { disabled: true }, breaker: { failureThreshold: 3, disabled: true } };
    await fleet(1, 0, config, async (gateway) => {
      for (let i = 0; i < 12; i += 1) expect((await ask(gateway)).status).toBe(500);
    });
  });

  it('[G72] failing and good worker, threshold 2, 20 requests with retries: every one is 200', async () => {
    const config = {
      retry: { maxAttempts: 3, initialBackoffMs: 1 },
      breaker: { failureThreshold: 2, timeoutSecs: 60 },
    };
    await fleet(1, 1, config, async (gateway, engines) => {
      for (let i = 0; i < 20; i += 1) expect((await ask(gateway)).status).toBe(200);
      expect(attempts(engines)).toEqual([2, 20]);
    });
  });

  it('[G72] the same without retries: the good worker keeps serving', async () => {
    const config = { retry: { disabled: true }, breaker: { failureThreshold: 2, timeoutSecs: 60 } };
    await fleet(1, 1, config, async (gateway) => {
      const got: number[] = [];
      for (let i = 0; i < 20; i += 1) got.push((await ask(gateway)).status);
      expect(got.filter((status) => status === 500)).toHaveLength(2);
      expect(got.slice(4).every((status) => status === 200)).toBe(true);
    });
  });

  it('[3.8] lets a request through after its timeout, closes on success; 4xx and 429 are no failures', async () => {
    const config = {
      retry: { disabled: true },
      breaker: { failureThreshold: 2, successThreshold: 2, timeoutSecs: 1 },
    };
    await fleet(0, 1, config, async (gateway, engines) => {
      const [engine] = engines;
      for (const status of [400, 429, 429, 429, 404]) {
        engine?.behave({ route: '/generate', status, times: 1 });
        expect((await ask(gateway)).status).toBe(status);
      }
      // 429 neither counts nor resets; a success resets.
      engine?.behave({ route: '/generate', status: 500, times: 1 });
      await ask(gateway);
      expect((await ask(gateway)).status).toBe(200);
      engine?.behave({ route: '/generate', status: 500, times: 2 });
      await ask(gateway);
      await ask(gateway);
      expect((await ask(gateway)).status).toBe(503);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect((await ask(gateway)).status).toBe(200);
      expect(await gateway.metrics()).toMatch(/smg_worker_cb_state\{[^}]*\} 2/);
      expect((await ask(gateway)).status).toBe(200);
      expect(await gateway.metrics()).toMatch(/smg_worker_cb_state\{[^}]*\} 0/);
    });
  });

  it('[3.8] half-open: one failure opens it again', async () => {
    const config = {
      retry: { disabled: true },
      breaker: { failureThreshold: 1, successThreshold: 2, timeoutSecs: 1 },
    };
    await fleet(1, 0, config, async (gateway, engines) => {
      expect((await ask(gateway)).status).toBe(500);
      expect((await ask(gateway)).status).toBe(503);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect((await ask(gateway)).status).toBe(500);
      expect((await ask(gateway)).status).toBe(503);
      expect(attempts(engines)).toEqual([2]);
    });
  });
});
