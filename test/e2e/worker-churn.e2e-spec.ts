import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf, type WorkersClient } from '../support/workers';

/** An engine that costs next to nothing, so that hundreds fit into a test. */
class TinyEngine {
  connections = 0;
  private readonly server: Server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end('{"text":"ok"}');
    });
  });

  async start(): Promise<this> {
    this.server.on('connection', (socket) => {
      this.connections += 1;
      socket.on('close', () => (this.connections -= 1));
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const collectGarbage = ((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

async function settledHeap(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

describe('workers that come and go by the hundred', () => {
  const COUNT = 150;
  let gateway: RunningGateway;
  let workers: WorkersClient;
  let steady: MockEngine;
  let tiny: TinyEngine[];
  beforeAll(async () => {
    steady = await new MockEngine({ keepRequests: 0 }).start();
    tiny = await Promise.all(Array.from({ length: COUNT }, () => new TinyEngine().start()));
    gateway = await startGateway(
      { routing: { policy: 'round_robin' }, health: { drainSettleSecs: 0 } },
      { engines: [steady] },
    );
    workers = workersOf(gateway.url);
  });
  afterAll(async () => {
    await steady.stop();
    for (const engine of tiny) engine.stop();
    await gateway.close();
  });

  /** Adds all, sends each a request, removes all. */
  const round = async (): Promise<void> => {
    const spec = { runtime_type: 'sglang', models: [{ id: 'tiny' }] };
    await Promise.all(
      tiny.map(({ url }) => send(`${gateway.url}/workers`, { body: { ...spec, url } })),
    );
    await workers.untilCount(COUNT + 1);
    for (let sent = 0; sent < COUNT; sent += 10) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () =>
          send(`${gateway.url}/v1/completions`, { body: { model: 'tiny', prompt: 'x' } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    }
    const { workers: rows } = await workers.list();
    await Promise.all(
      rows.filter(({ url }) => url !== steady.url).map(({ id }) => workers.remove(id)),
    );
    await until('all are gone', async () => (await workers.list()).total === 1);
  };

  it(`[97][R47] ${COUNT} workers added, used and removed, four times: series, heap and sockets flat`, async () => {
    await round();
    const series = async (): Promise<number> =>
      (await gateway.metrics()).split('\n').filter((line) => line.startsWith('smg_')).length;
    await round();
    gateway.rawLogs.length = 0;
    gateway.logs.length = 0;
    const seriesBefore = await series();
    const heapBefore = await settledHeap();
    await round();
    await round();
    gateway.rawLogs.length = 0;
    gateway.logs.length = 0;
    expect(await series()).toBeLessThanOrEqual(seriesBefore + 2);
    // What 300 leaked pools would be is several times this.
    expect((await settledHeap()) - heapBefore).toBeLessThan(6 * 1024 * 1024);
    const page = await gateway.metrics();
    for (const { url } of tiny) expect(page).not.toContain(url);
    await until('the pools let go', () => tiny.every(({ connections }) => connections === 0));
    expect((await send(`${gateway.url}/generate`, { body: { text: 'x' } })).status).toBe(200);
  }, 30_000);
});

describe('[R61] workers added and removed every 100 ms under load', () => {
  it('no request on the others fails: at least 200 requests in 3 s, streams among them', async () => {
    const engines = await Promise.all(
      Array.from({ length: 4 }, () =>
        new MockEngine({ keepRequests: 0, tokens: 4, tokenLatencyMs: 5 }).start(),
      ),
    );
    const [one, two, ...guests] = engines as [MockEngine, MockEngine, ...MockEngine[]];
    const gateway = await startGateway(
      {
        routing: { policy: 'round_robin' },
        health: { drainSettleSecs: 0 },
        retry: { disabled: true },
      },
      { engines: [one, two] },
    );
    const workers = workersOf(gateway.url);
    const bad: string[] = [];
    let served = 0;
    let byGuests = 0;
    let isOver = false;
    const load = Array.from({ length: 8 }, async (_, at) => {
      const stream = at % 2 === 0;
      while (!isOver) {
        const got = await send(`${gateway.url}/v1/completions`, {
          body: { model: 'mock-model', prompt: `p${served}`, stream },
        });
        served += 1;
        const isWhole = !got.aborted && (!stream || got.text.includes('[DONE]'));
        if (got.status !== 200 || !isWhole) bad.push(`${got.status} ${got.text}`);
        if (guests.some(({ url }) => url === got.headers['x-smg-routed-worker-id'])) byGuests += 1;
      }
    });
    try {
      const deadline = performance.now() + 3000;
      while (performance.now() < deadline) {
        for (const guest of guests) {
          const id = await workers.added({ url: guest.url });
          await new Promise((resolve) => setTimeout(resolve, 100));
          await workers.remove(id);
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    } finally {
      isOver = true;
      await Promise.all(load);
      await gateway.close();
      await Promise.all(engines.map((engine) => engine.stop()));
    }
    expect(bad).toEqual([]);
    expect(served).toBeGreaterThan(200);
    expect(byGuests).toBeGreaterThan(0);
  });
});
