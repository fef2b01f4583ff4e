import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { ROOT } from '../support/program';

const run = promisify(execFile);

/** Boots a gateway in a process of its own and counts the files of the control plane it has read. */
async function rlFilesRead(enabled: boolean): Promise<number> {
  const script = `
    const { createGateway, loadConfig } = require(${JSON.stringify(join(ROOT, 'dist/src/index.js'))});
    const config = loadConfig(
      {
        rl: { enabled: ${String(enabled)} },
        listener: { host: '127.0.0.1', port: 0 },
        observability: { prometheusHost: '127.0.0.1', prometheusPort: 0, logLevel: 'error' },
      },
      { ephemeralPorts: true },
    );
    createGateway(config).then(async (gateway) => {
      console.log(Object.keys(require.cache).filter((file) => /libs.rl.src|@nestjs.swagger/.test(file)).length);
      await gateway.close();
    });`;
  const { stdout } = await run(process.execPath, ['-e', script], { timeout: 20_000 });
  return Number(stdout.trim());
}

describe('the control plane of a process that has not enabled it', () => {
  it('is not read from disk', async () => {
    expect(await rlFilesRead(false)).toBe(0);
    expect(await rlFilesRead(true)).toBeGreaterThan(10);
  });
});
