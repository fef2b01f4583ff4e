import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'x' }] });

async function engines(count: number): Promise<MockEngine[]> {
  return Promise.all(Array.from({ length: count }, () => new MockEngine().start()));
}

describe('workers that come and go', () => {
  let gateway: RunningGateway;
  let fleet: MockEngine[];
  const ask = async (): Promise<number> =>
    (await send(`${gateway.url}/v1/chat/completions`, { body: chat('mock-model') })).status;

  beforeAll(async () => {
    fleet = await engines(2);
    gateway = await startGateway(
      {
        health: {
          checkIntervalSecs: 1,
          failureThreshold: 2,
          successThreshold: 2,
          drainSettleSecs: 0,
        },
        routing: { policy: 'round_robin' },
        retry: { maxAttempts: 3, initialBackoffMs: 1 },
        breaker: { timeoutSecs: 1, successThreshold: 1 },
      },
      { engines: fleet },
    );
  });
  afterAll(async () => {
    await Promise.all(fleet.map((engine) => engine.stop()));
    await gateway.close();
  });

  it('[49][84] a worker whose /health answers 503 is not ready and gets no request', async () => {
    const [sick, well] = fleet as [MockEngine, MockEngine];
    sick.behave({ route: '/health', status: 503 });
    await until('readiness sees one', async () => {
      return (await send(`${gateway.url}/readiness`)).json['healthy_workers'] === 1;
    });
    const worker = await workersOf(gateway.url).byUrl(sick.url);
    expect(worker).toMatchObject({ status: 'not_ready', is_healthy: false });
    const [before, beforeWell] = [sick, well].map((it) => it.counters.of('/v1/chat/completions'));
    for (let i = 0; i < 50; i += 1) expect(await ask()).toBe(200);
    expect(sick.counters.of('/v1/chat/completions')).toBe(before);
    expect(well.counters.of('/v1/chat/completions')).toBe((beforeWell ?? 0) + 50);
    expect(await gateway.metrics()).toContain(`smg_worker_health{worker="${sick.url}"} 0`);

    sick.behaveNormally();
    await until('it is back by itself', async () => {
      return (await send(`${gateway.url}/readiness`)).json['healthy_workers'] === 2;
    });
    const upTo = sick.counters.of('/v1/chat/completions');
    for (let i = 0; i < 10; i += 1) expect(await ask()).toBe(200);
    expect(sick.counters.of('/v1/chat/completions')).toBe(upTo + 5);
  });

  it('[3.7] one failed probe below the threshold changes nothing (flapping)', async () => {
    const [flapping] = fleet as [MockEngine, MockEngine];
    const worker = await workersOf(gateway.url).byUrl(flapping.url);
    const health = flapping.counters.of('/health');
    flapping.behave({ route: '/health', status: 500, times: 1 });
    await until('it was probed twice more', () => flapping.counters.of('/health') >= health + 2);
    expect((await workersOf(gateway.url).find(worker.id)).status).toBe('ready');
  });
});

describe('[49] a worker that never was healthy', () => {
  it('gets no request while its registration waits for it, and works once it answers', async () => {
    const [well, pending] = (await engines(2)) as [MockEngine, MockEngine];
    pending.behave({ route: '/health', status: 503 });
    const gateway = await startGateway({ routing: { policy: 'round_robin' } }, { engines: [well] });
    try {
      const workers = workersOf(gateway.url);
      const added = await send(`${gateway.url}/workers`, { body: { url: pending.url } });
      const deadline = performance.now() + 1500;
      let served = 0;
      while (performance.now() < deadline) {
        const got = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
        if (got.status === 200) served += 1;
      }
      expect(served).toBeGreaterThan(20);
      expect(pending.counters.of('/generate')).toBe(0);
      pending.behaveNormally();
      await workers.untilReady(added.json['worker_id']);
      await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      await send(`${gateway.url}/generate`, { body: { text: 'x' } });
      expect(pending.counters.of('/generate')).toBe(1);
    } finally {
      await gateway.close();
      await Promise.all([well.stop(), pending.stop()]);
    }
  });
});

describe('[3.7] --remove-unhealthy-workers', () => {
  it('removes a worker that reaches failed, and its series', async () => {
    const [lost, well] = (await engines(2)) as [MockEngine, MockEngine];
    const gateway = await startGateway(
      {
        health: {
          checkIntervalSecs: 1,
          failureThreshold: 1,
          successThreshold: 1,
          removeUnhealthyWorkers: true,
        },
      },
      { engines: [lost, well] },
    );
    try {
      const workers = workersOf(gateway.url);
      expect(await gateway.metrics()).toContain(lost.url);
      lost.crash();
      await until('it is gone', async () => (await workers.list()).total === 1, 15_000);
      expect(await gateway.metrics()).not.toContain(lost.url);
      expect((await workers.list()).workers[0]?.url).toBe(well.url);
    } finally {
      await gateway.close();
      await Promise.all([lost.stop(), well.stop()]);
    }
  });
});

describe('--disable-health-check', () => {
  it('workers are ready when registered and stay so', async () => {
    const engine = await new MockEngine().start();
    const gateway = await startGateway({ health: { checksDisabled: true } }, { engines: [engine] });
    try {
      const probes = engine.counters.of('/health');
      engine.behave({ route: '/health', status: 500 });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect((await workersOf(gateway.url).list()).workers[0]?.status).toBe('ready');
      expect(engine.counters.of('/health')).toBe(probes);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
