import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';

const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'x' }] });

describe('a fleet that dies and comes back', () => {
  let gateway: RunningGateway;
  let fleet: MockEngine[];
  const ask = async (): Promise<number> =>
    (await send(`${gateway.url}/v1/chat/completions`, { body: chat('mock-model') })).status;

  beforeAll(async () => {
    fleet = [await new MockEngine().start(), await new MockEngine().start()];
    gateway = await startGateway(
      {
        health: {
          checkIntervalSecs: 1,
          failureThreshold: 2,
          successThreshold: 1,
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

  it('[R51][57] all workers die under load: JSON 503 meanwhile, traffic again within a probe interval of the revival', async () => {
    const [one, two] = fleet as [MockEngine, MockEngine];
    one.crash();
    two.crash();
    let isOver = false;
    let revivedAt = Number.POSITIVE_INFINITY;
    let firstSuccess: number | undefined;
    const bad: string[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const got = await send(`${gateway.url}/v1/chat/completions`, { body: chat('mock-model') });
        const at = performance.now();
        if (got.status === 200 && at > revivedAt) firstSuccess ??= at;
        const isGatewayError = typeof got.json['error']?.code === 'string';
        if (got.status !== 200 && !([502, 503].includes(got.status) && isGatewayError)) {
          bad.push(`${got.status} ${got.text}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    try {
      await until('nobody is ready', async () => {
        return (await send(`${gateway.url}/readiness`)).status === 503;
      });
      const down = await send(`${gateway.url}/v1/chat/completions`, { body: chat('mock-model') });
      expect([down.status, down.json['error'].code]).toEqual([503, 'no_available_workers']);
      expect((await send(`${gateway.url}/liveness`)).status).toBe(200);
      await one.start();
      revivedAt = performance.now();
      await until('it serves again', () => firstSuccess !== undefined);
    } finally {
      isOver = true;
      await Promise.all(load);
    }
    expect(bad).toEqual([]);
    // A probe within a second; the rest is for a busy machine.
    expect((firstSuccess ?? 0) - revivedAt).toBeLessThan(3000);
    await two.start();
    await workersOf(gateway.url).untilCount(2);
  });

  it('[57] all workers removed: 404 in JSON; added again: works without a restart', async () => {
    const workers = workersOf(gateway.url);
    for (const { id } of (await workers.list()).workers) await workers.remove(id);
    await until('nobody is left', async () => (await workers.list()).total === 0);
    const none = await send(`${gateway.url}/v1/chat/completions`, { body: chat('mock-model') });
    expect([none.status, none.json['error'].code]).toEqual([404, 'model_not_found']);
    const any = await send(`${gateway.url}/generate`, { body: { text: 'x' } });
    expect([404, 503]).toContain(any.status);
    expect(typeof any.json['error'].code).toBe('string');
    const flush = await send(`${gateway.url}/flush_cache`, { method: 'POST' });
    expect(flush.status).toBe(200);
    expect(flush.json['message']).toBe('No workers available for cache flush');
    for (const { url } of fleet) await workers.added({ url });
    expect(await ask()).toBe(200);
  });
});
