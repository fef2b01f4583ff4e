import { Module } from '@nestjs/common';
import { ROUTING_POLICY } from '@smg/plugin-api';
import { type Worker } from '@smg/registry';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { describeLanes } from './support/lanes';
import { sample } from './support/scrape';

const CHAT = { model: 'mock-model', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };
const OVERLOADED = { num_waiting_reqs: 8 };

let gateway: RunningGateway;
let engines: MockEngine[] = [];

async function start(
  routing: object,
  rest: object = {},
  options: ConstructorParameters<typeof MockEngine>[0] = {},
): Promise<void> {
  engines = [new MockEngine(options), new MockEngine(options)];
  await Promise.all(engines.map((engine) => engine.start()));
  const config = { routing: { policy: 'round_robin', loadMonitorIntervalSecs: 1, ...routing } };
  gateway = await startGateway({ ...config, ...rest }, { engines });
}

afterEach(async () => {
  await gateway.close();
  await Promise.all(engines.map((engine) => engine.stop()));
});

const chat = (): Promise<Answer> => send(`${gateway.url}/v1/chat/completions`, { body: CHAT });

const overloadedCount = async (): Promise<number> =>
  sample(await gateway.metrics(), 'smg_workers_overloaded', { model: 'mock-model' });

const untilOverloaded = (count: number): Promise<void> =>
  until(`${count} workers are overloaded`, async () => (await overloadedCount()) === count);

function tell(first: object | undefined, second: object | undefined): void {
  const [a, b] = engines;
  if (a !== undefined) a.state.reportedLoads = first as never;
  if (b !== undefined) b.state.reportedLoads = second as never;
}

const served = (): (number | undefined)[] =>
  engines.map((engine) => engine.counters.of('/v1/chat/completions'));

describeLanes('overload protection', ({ hotLane }) => {
  it('[row 75] leaves an overloaded engine out, sheds when all are, and recovers', async () => {
    await start({ overloadWaitingRequests: 8 }, { requests: { hotLane } });
    tell(OVERLOADED, undefined);
    await untilOverloaded(1);
    for (let at = 0; at < 4; at += 1) expect((await chat()).status).toBe(200);
    expect(served()).toEqual([0, 4]);

    tell(OVERLOADED, OVERLOADED);
    await untilOverloaded(2);
    const before = performance.now();
    const shed = await chat();
    // Five attempts would have waited for more than 400 ms.
    expect(performance.now() - before).toBeLessThan(300);
    expect([shed.status, shed.headers['retry-after']]).toEqual([503, '1']);
    expect(shed.headers['x-smg-error-code']).toBe('no_available_workers');
    expect(shed.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(shed.json['error']).toMatchObject({
      code: 'no_available_workers',
      message: "All workers for model 'mock-model' are overloaded",
    });
    expect(served()).toEqual([0, 4]);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_overload_shed_total', { stage: 'selection' })).toBe(1);
    expect(sample(page, 'smg_worker_retries_total')).toBe(0);
    // Busy is not broken.
    expect((await send(`${gateway.url}/readiness`)).status).toBe(200);
    expect((await send(`${gateway.url}/get_model_info`)).status).toBe(200);

    tell(undefined, OVERLOADED);
    await untilOverloaded(1);
    expect((await chat()).status).toBe(200);
    expect(served()).toEqual([1, 4]);
  });
});

/** Chooses a worker and sees its flag go up before the request is sent. */
@Module({
  providers: [
    ...ROUTING_POLICY.provide({
      label: 'too-late',
      useFactory: () => ({
        name: 'too_late',
        create: () => ({
          name: 'too_late',
          select: ([first]: readonly unknown[]) => {
            (first as Worker).setOverloaded(true);
            return first as Worker;
          },
        }),
      }),
    }),
  ],
})
class TooLate {}

describeLanes('a worker that is flagged after it was chosen', ({ hotLane }) => {
  it('gets nothing: the request is shed, and the answer names it', async () => {
    engines = [await new MockEngine().start()];
    const routing = { policy: 'too_late', loadMonitorIntervalSecs: 7 };
    const config = { routing, requests: { hotLane } };
    gateway = await startGateway(config, { engines, plugins: [TooLate] });
    const got = await chat();
    expect([got.status, got.headers['retry-after']]).toEqual([503, '7']);
    expect(got.json['error']).toMatchObject({
      code: 'no_available_workers',
      message: `Worker ${engines[0]?.url ?? ''} is overloaded`,
    });
    expect(got.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(served()).toEqual([0]);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_overload_shed_total', { stage: 'dispatch' })).toBe(1);
    expect(sample(page, 'smg_worker_requests_active')).toBe(0);
    expect(sample(page, 'smg_worker_retries_total')).toBe(0);
  });
});

describe('a gateway that ends', () => {
  it('drops its questions at once', async () => {
    await start({ overloadWaitingRequests: 8 });
    const [first] = engines;
    if (first === undefined) throw new Error('no engine');
    first.behave({ cut: { at: 'request', how: 'hang' } });
    await until('the engine hangs on to a question', () => first.counters.inFlight === 1);
    const scrape = send(`${gateway.url}/engine_metrics`).catch(() => undefined);
    await until('and to a scrape', () => first.counters.inFlight === 2);
    const before = performance.now();
    await gateway.close();
    await scrape;
    await until('nothing is asked', () => first.counters.inFlight === 0, 1000);
    expect(performance.now() - before).toBeLessThan(3000);
  });
});

describe('overload protection', () => {
  it('alone goes by a KV use of 0.9', async () => {
    await start({ overloadProtection: true });
    tell({ num_waiting_reqs: 1000, token_usage: 0.89 }, { token_usage: 0.9 });
    await untilOverloaded(1);
    await chat();
    await chat();
    expect(served()).toEqual([2, 0]);
  });

  it('lets go of an engine whose report fails', async () => {
    await start({ overloadWaitingRequests: 8 });
    tell(OVERLOADED, OVERLOADED);
    await untilOverloaded(2);
    for (const engine of engines) engine.behave({ route: '/v1/loads', status: 500 });
    await untilOverloaded(0);
    expect((await chat()).status).toBe(200);
    expect(engines.map((engine) => engine.counters.of('/metrics'))).toEqual([0, 0]);
  });

  it.each(['vllm', 'sglang'] as const)(
    'reads the metrics of %s without /v1/loads',
    async (kind) => {
      await start({ overloadWaitingRequests: 8 }, {}, { kind });
      for (const engine of engines) engine.behave({ route: '/v1/loads', status: 404 });
      tell(OVERLOADED, undefined);
      const [first] = engines;
      if (kind === 'sglang') {
        // Asked before the route was gone; a replacement asks again.
        const workers = workersOf(gateway.url);
        for (const { id, url } of (await workers.list()).workers) {
          await send(`${gateway.url}/workers/${id}`, { method: 'PUT', body: { url } });
        }
      }
      await untilOverloaded(1);
      await until('metrics were read twice', () => (first?.counters.of('/metrics') ?? 0) >= 2);
      const asked = first?.counters.of('/v1/loads') ?? 0;
      await until('once more', () => (first?.counters.of('/metrics') ?? 0) >= 4);
      expect(first?.counters.of('/v1/loads')).toBe(asked);
    },
  );

  it('drops the question to an engine whose worker is removed', async () => {
    await start({ overloadWaitingRequests: 8 }, { health: { drainSettleSecs: 0 } });
    const [first] = engines;
    if (first === undefined) throw new Error('no engine');
    first.behave({ route: '/v1/loads', cut: { at: 'request', how: 'hang' } });
    await until('the engine hangs on to a question', () => first.counters.inFlight === 1);
    const workers = workersOf(gateway.url);
    await workers.remove((await workers.byUrl(first.url)).id);
    await until('the question is gone', () => first.counters.inFlight === 0, 2000);
    const asked = first.counters.of('/v1/loads');
    const [, second] = engines;
    const others = second?.counters.of('/v1/loads') ?? 0;
    await until('two rounds', () => (second?.counters.of('/v1/loads') ?? 0) >= others + 2);
    expect(first.counters.of('/v1/loads')).toBe(asked);
    expect((await gateway.metrics()).includes(first.url)).toBe(false);
  });

  it('and everything else that wants reports is inert unless asked for', async () => {
    await start({ policy: 'cache_aware' });
    for (let at = 0; at < 5; at += 1) await chat();
    await new Promise((resolve) => setTimeout(resolve, 1200));
    for (const engine of engines) {
      expect([engine.counters.of('/v1/loads'), engine.counters.of('/metrics')]).toEqual([0, 0]);
    }
  });

  it.each(['least_load', 'power_of_two'])('%s is told what engines report', async (policy) => {
    await start({ policy });
    tell({ num_waiting_reqs: 5000 }, { num_waiting_reqs: 0 });
    const asked = (): number[] => engines.map((engine) => engine.counters.of('/v1/loads'));
    const before = asked();
    await until('both were asked again', () => asked().every((n, at) => n > (before[at] ?? 0)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (let at = 0; at < 6; at += 1) await chat();
    expect(served()).toEqual([0, 6]);
  });
});
