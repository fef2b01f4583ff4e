import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send } from '../support/http';
import { until } from '../support/until';
import { workersOf, type WorkersClient } from '../support/workers';

describe('commands to one worker at the same time', () => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let workers: WorkersClient;
  const faults: unknown[] = [];
  const note = (fault: unknown): void => void faults.push(fault);

  beforeAll(async () => {
    process.on('unhandledRejection', note);
    engine = await new MockEngine({ latencyMs: 300 }).start();
    gateway = await startGateway(
      { health: { drainSettleSecs: 0 }, retry: { maxAttempts: 3, initialBackoffMs: 5 } },
      { engines: [engine] },
    );
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    process.off('unhandledRejection', note);
    await engine.stop();
    await gateway.close();
  });

  it('[3.2] forty PATCHes at once: none is lost', async () => {
    const { id } = await workers.byUrl(engine.url);
    const labels = Array.from({ length: 40 }, (_, at) => `label-${at}`);
    const answers = await Promise.all(
      labels.map((name) =>
        send(`${gateway.url}/workers/${id}`, {
          method: 'PATCH',
          body: { labels: { [name]: '1' } },
        }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    await until('all forty are there', async () => {
      const found = (await workers.find(id)).labels ?? {};
      return labels.every((name) => found[name] === '1');
    });
  });

  it('[3.2] POST, PUT, PATCH and DELETE in any order: the end is consistent, nothing is thrown', async () => {
    const guest = await new MockEngine({ model: 'guest' }).start();
    try {
      const add = (): Promise<unknown> =>
        send(`${gateway.url}/workers`, { body: { url: guest.url } });
      const at = `${gateway.url}/workers/${encodeURIComponent(guest.url)}`;
      const calls: readonly (() => Promise<unknown>)[] = [
        add,
        () => send(at, { method: 'PUT', body: { url: guest.url, priority: 2 } }),
        () => send(at, { method: 'PATCH', body: { priority: 3 } }),
        () => send(at, { method: 'DELETE' }),
      ];
      for (let round = 0; round < 30; round += 1) {
        await Promise.all(
          Array.from({ length: 6 }, (_, index) => calls[(round * 7 + index * 5) % 4]!()),
        );
      }
      // Whatever is left, one DELETE after the last job ends it, and one POST brings it back.
      await until('it can be removed', async () => {
        const got = await send(at, { method: 'DELETE' });
        return got.status === 404;
      });
      await until('it is gone', async () => (await workers.list()).total === 1);
      const id = await workers.added({ url: guest.url });
      expect((await workers.list()).total).toBe(2);
      const got = await send(`${gateway.url}/v1/completions`, {
        body: { model: 'guest', prompt: 'x' },
      });
      expect(got.status).toBe(200);
      await workers.remove(id);
      await until('it is gone', async () => (await workers.list()).total === 1);
    } finally {
      await guest.stop();
    }
    expect(faults).toEqual([]);
    expect(gateway.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('[3.8] a buffered request keeps the worker that is removed under it', async () => {
    const pending = send(`${gateway.url}/v1/completions`, {
      body: { model: 'mock-model', prompt: 'x' },
    });
    await until('it is at the engine', () => engine.counters.of('/v1/completions') > 0);
    const { id } = await workers.byUrl(engine.url);
    await workers.remove(id);
    await until('the worker is gone', async () => (await workers.list()).total === 0);
    const got = await pending;
    expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, engine.url]);
    expect(await gateway.metrics()).not.toContain(engine.url);
    await workers.added({ url: engine.url });
  });

  it('[3.8] a worker replaced under a stream keeps its load, its id and the stream', async () => {
    const slow = await new MockEngine({ model: 'slow', tokens: 20, tokenLatencyMs: 20 }).start();
    try {
      const id = await workers.added({ url: slow.url });
      const { incoming } = await open(`${gateway.url}/v1/completions`, {
        body: { model: 'slow', prompt: 'x', stream: true },
      });
      let text = '';
      incoming.on('data', (part: Buffer) => (text += part.toString()));
      const closed = new Promise((resolve) => incoming.once('close', resolve));
      await send(`${gateway.url}/workers/${id}`, {
        method: 'PUT',
        body: { url: slow.url, priority: 8 },
      });
      await until('it is replaced', async () => (await workers.find(id)).priority === 8);
      expect((await workers.find(id)).load).toBe(1);
      await closed;
      expect(text).toContain('[DONE]');
      expect(incoming.complete).toBe(true);
      await until('its load is zero', async () => (await workers.find(id)).load === 0);
    } finally {
      await slow.stop();
    }
  });
});

describe('[3.3] a full job queue', () => {
  it('refuses with 500 INTERNAL_SERVER_ERROR, and works again when there is room', async () => {
    const deaf = await Promise.all(Array.from({ length: 3 }, () => new MockEngine().start()));
    for (const engine of deaf) engine.behave({ route: '/health', status: 503 });
    const gateway = await startGateway({
      workers: { jobQueueCapacity: 1, jobQueueConcurrency: 1 },
      health: { drainSettleSecs: 0 },
    });
    try {
      const add = (url: string): ReturnType<typeof send> =>
        send(`${gateway.url}/workers`, { body: { url } });
      const [one, two, three] = deaf as [MockEngine, MockEngine, MockEngine];
      const first = await add(one.url);
      expect([first.status, (await add(two.url)).status]).toEqual([202, 202]);
      const refused = await add(three.url);
      expect([refused.status, refused.json['code']]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
      expect(refused.json['error']).toContain('full');
      one.behaveNormally();
      two.behaveNormally();
      three.behaveNormally();
      const workers = workersOf(gateway.url);
      await workers.untilCount(2);
      await workers.added({ url: three.url });
      expect((await workers.list()).total).toBe(3);
    } finally {
      await Promise.all(deaf.map((engine) => engine.stop()));
      await gateway.close();
    }
  });
});
