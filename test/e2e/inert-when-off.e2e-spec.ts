import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findRedis, startRedis } from '../support/databases';
import { ROOT } from '../support/program';

const run = promisify(execFile);

/** Boots a gateway in a process of its own and counts the files it has read whose path matches. */
async function filesRead(files: RegExp, part: object): Promise<number> {
  const script = `
    const { createGateway, loadConfig } = require(${JSON.stringify(join(ROOT, 'dist/src/index.js'))});
    const config = loadConfig(
      {
        ...${JSON.stringify(part)},
        listener: { host: '127.0.0.1', port: 0 },
        observability: { prometheusHost: '127.0.0.1', prometheusPort: 0, logLevel: 'error' },
      },
      { ephemeralPorts: true },
    );
    createGateway(config).then(async (gateway) => {
      console.log(Object.keys(require.cache).filter((file) => ${String(files)}.test(file)).length);
      await gateway.close();
    });`;
  const { stdout } = await run(process.execPath, ['-e', script], { timeout: 20_000 });
  return Number(stdout.trim());
}

describe('the control plane of a process that has not enabled it', () => {
  it('is not read from disk', async () => {
    const files = /libs.rl.src|@nestjs.swagger/;
    expect(await filesRead(files, {})).toBe(0);
    expect(await filesRead(files, { rl: { enabled: true } })).toBeGreaterThan(10);
  });
});

describe('the limits of a process that has not enabled them', () => {
  it('are not read from disk, nor is what reads their file', async () => {
    const files = /libs.admission.src|node_modules.yaml/;
    const folder = mkdtempSync(join(tmpdir(), 'smg-inert-'));
    const rateLimitConfig = join(folder, 'limits.yaml');
    writeFileSync(rateLimitConfig, 'tenants: []\n');
    try {
      expect(await filesRead(files, {})).toBe(0);
      const tenants = { rateLimitEnabled: true, rateLimitConfig };
      expect(await filesRead(files, { tenants })).toBeGreaterThan(10);
      const admission = { maxConcurrentRequests: 1 };
      expect(await filesRead(files, { admission })).toBeGreaterThan(10);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the databases of a process that has not chosen one', () => {
  const drivers = /node_modules.(?:pg|ioredis)|(?:postgres|redis)\.store/;
  const redis = findRedis();

  it.each(['memory', 'none'])('%s: their drivers are not read from disk', async (backend) => {
    expect(await filesRead(drivers, { history: { backend } })).toBe(0);
  });

  (redis === undefined ? it.skip : it)('a chosen one is', async () => {
    const server = await startRedis(redis ?? '');
    try {
      const history = { backend: 'redis', redisUrl: server.url };
      expect(await filesRead(drivers, { history })).toBeGreaterThan(10);
    } finally {
      await server.stop();
    }
  });
});
