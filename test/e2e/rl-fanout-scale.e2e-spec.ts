import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';

const ENGINES = 200;
const ENGINE_MS = 400;

/** One server stands for all engines: each has a base path of its own. */
function engines(): Server {
  return createServer((request, response) => {
    request.resume();
    const json = (body: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.method !== 'POST') json({ model_path: 'm', served_model_name: 'm' });
    else setTimeout(json, ENGINE_MS, { success: true });
  });
}

describe('a fan-out over many engines', () => {
  let server: Server;
  let gateway: RunningGateway;
  beforeAll(async () => {
    server = engines().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    gateway = await startGateway(
      {
        rl: { enabled: true, fanoutConcurrency: ENGINES },
        workers: {
          backend: 'sglang',
          urls: Array.from({ length: ENGINES }, (_, n) => `http://127.0.0.1:${port}/engine-${n}`),
        },
        health: { checksDisabled: true },
      },
      { ready: ENGINES },
    );
  }, 30_000);
  afterAll(async () => {
    await gateway.close();
    server.closeAllConnections();
    server.close();
  });

  it(`${ENGINES} engines answer within one and a half times the slowest of them`, async () => {
    const took: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const from = performance.now();
      const answer = await send(
        `${gateway.url}/v1/rl/engine/flush_cache?selector=engine%3Dsglang`,
        {
          body: {},
        },
      );
      took.push(performance.now() - from);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ total: ENGINES, succeeded: ENGINES, failed: [] });
    }
    // The best of a few rounds: the machine may be busy, the gateway may not be the cause of it.
    expect(Math.min(...took) / ENGINE_MS).toBeLessThan(1.5);
  }, 20_000);
});
