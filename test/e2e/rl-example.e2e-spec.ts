import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { MockEngine } from '@smg/testing';
import { send } from '../support/http';
import { ROOT } from '../support/program';
import { RlClient, startAll, startRl, type RlGateway } from './support/rl';

const SCRIPT = join(ROOT, 'dist/examples/rl/refit-from-disk.js');
const KEY = 'operators-key';

/** Runs the example as its page says; killed after a while. */
function refit(
  gateway: RlGateway,
  version: string,
): Promise<{ code: number | null; said: string }> {
  const argv = ['--smg', gateway.url, '--model-path', '/m', '--weight-version', version];
  const child = spawn(process.execPath, [SCRIPT, ...argv], {
    env: { SMG_API_KEY: KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => (said += part.toString()));
  }
  return new Promise((resolve) => {
    child.once('close', (code) => {
      resolve({ code, said });
    });
  });
}

describe('examples/rl/refit-from-disk', () => {
  const engines = [new MockEngine({ latencyMs: 5 }), new MockEngine({ latencyMs: 5 })] as const;
  let gateway: RlGateway;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    stop = await startAll(...engines);
    gateway = await startRl(
      {
        auth: { apiKey: KEY },
        rl: { versionPolicy: 'latest-only' },
        retry: { maxAttempts: 30, initialBackoffMs: 20, maxBackoffMs: 100 },
      },
      { engines },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await stop();
  });

  it('puts a version on every engine, and no client notices', async () => {
    const trainer = { isDone: false };
    const statuses = new Set<number>();
    const traffic = (async () => {
      while (!trainer.isDone) {
        const { status } = await send(`${gateway.url}/generate`, {
          headers: { authorization: `Bearer ${KEY}` },
          body: { text: 'hi' },
        });
        statuses.add(status);
      }
    })();
    const { code, said } = await refit(gateway, '7');
    trainer.isDone = true;
    await traffic;
    expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('with version 7') });
    expect(engines.map(({ weightVersion }) => weightVersion)).toEqual(['7', '7']);
    expect([...statuses]).toEqual([200]);
  });

  it('leaves an engine that refused its weights paused, and ends with 1', async () => {
    const [first, second] = engines;
    first.behave({
      route: '/update_weights_from_disk',
      status: 200,
      body: { success: false, message: 'no such checkpoint' },
    });
    const { code, said } = await refit(gateway, '8');
    expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining('was refused') });
    const rl = new RlClient(gateway.url, { authorization: `Bearer ${KEY}` });
    expect(await rl.row(first)).toMatchObject({ control: 'paused', weight_version: '7' });
    expect(await rl.row(second)).toMatchObject({ weight_version: '7' });
  });
});
