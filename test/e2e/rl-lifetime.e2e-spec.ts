import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGateway } from '../support/gateway';
import { send } from '../support/http';
import { ROOT } from '../support/program';

const run = promisify(execFile);
const dist = (path: string): string => JSON.stringify(join(ROOT, 'dist', path));

describe('the RL control plane and what it holds', () => {
  it('[RL110] a closed gateway frees its registry', async () => {
    const script = `
      const { createGateway, loadConfig } = require(${dist('src/index.js')});
      const { WorkerRegistry } = require(${dist('libs/registry/src/index.js')});
      const config = loadConfig(
        {
          rl: { enabled: true },
          listener: { host: '127.0.0.1', port: 0 },
          observability: { prometheusHost: '127.0.0.1', prometheusPort: 0, logLevel: 'error' },
        },
        { ephemeralPorts: true },
      );
      async function registryOfAClosedGateway() {
        const gateway = await createGateway(config);
        await gateway.listen();
        const registry = new WeakRef(gateway.app.get(WorkerRegistry));
        await gateway.close();
        return registry;
      }
      registryOfAClosedGateway().then(async (registry) => {
        for (let round = 0; round < 20 && registry.deref() !== undefined; round += 1) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          globalThis.gc();
        }
        console.log(registry.deref() === undefined ? 'freed' : 'held');
      });`;
    const { stdout } = await run(process.execPath, ['--expose-gc', '-e', script], {
      timeout: 20_000,
    });
    expect(stdout.trim()).toBe('freed');
  });

  it('[RL42] a control call speaks HTTP/1.1 to an engine', async () => {
    const seen: string[] = [];
    const engine = createServer((request, response) => {
      if (request.method === 'POST') seen.push(request.httpVersion);
      request.resume();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"success":true}');
    }).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    const { port } = engine.address() as AddressInfo;
    const gateway = await startGateway(
      {
        rl: { enabled: true },
        workers: { backend: 'sglang', urls: [`http://127.0.0.1:${port}`] },
      },
      { ready: 1 },
    );
    try {
      const path = '/v1/rl/engine/flush_cache?selector=engine%3Dsglang';
      expect((await send(gateway.url + path, { body: {} })).status).toBe(200);
      expect(seen).toEqual(['1.1']);
    } finally {
      await gateway.close();
      engine.closeAllConnections();
      engine.close();
    }
  });
});
