import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { MockEngine } from '@smg/testing';
import { startRl } from '../../../test/e2e/support/rl';
import { workersOf } from '../../../test/support/workers';
import { until } from '../../../test/support/until';
import { RL } from '../src';

// The first five minutes of README.md do what the page says. Needs `npm run build`.

const ROOT = resolve(__dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'clients/typescript/README.md'), 'utf8');
const BUILT = pathToFileURL(join(ROOT, 'dist/clients/typescript/src/index.js')).href;

const blocks = (language: string): string[] => {
  const [walk = ''] = PAGE.split('\n## `new RL');
  const fences = walk.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...fences].filter((fence) => fence[1] === language).map((fence) => fence[2] ?? '');
};

it('the walk through says what the page says', async () => {
  const engines = [new MockEngine({ kind: 'sglang' }), new MockEngine({ kind: 'sglang' })];
  await Promise.all(engines.map((engine) => engine.start()));
  // Rows come by URL and failures by id, which follows the order of registration: one order for both.
  engines.sort((one, other) => (one.url < other.url ? -1 : 1));
  const [first, second] = engines as [MockEngine, MockEngine];
  const gateway = await startRl({}, { engines: [first] });
  const home = mkdtempSync(join(tmpdir(), 'smg-readme-'));
  try {
    const rl = new RL({ baseUrl: gateway.url });
    await workersOf(gateway.url).added({ url: second.url });
    await until('both are known by kind', async () =>
      (await rl.workers()).every(({ engine }) => engine === 'sglang'),
    );
    const program = blocks('js')
      .join('\n')
      .replace("'smg-rl'", `'${BUILT}'`)
      .replace('http://127.0.0.1:30000', gateway.url);
    const file = join(home, 'first.mjs');
    writeFileSync(file, program);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 15_000 });
    const [low = '', high = ''] = (await rl.workers()).map(({ url }) => url);
    const said = stdout
      .replaceAll(low, 'http://127.0.0.1:31001')
      .replaceAll(high, 'http://127.0.0.1:31002');
    expect(said).toBe(blocks('text').join(''));
  } finally {
    rmSync(home, { recursive: true, force: true });
    await gateway.close();
    await Promise.all(engines.map((engine) => engine.stop()));
  }
});
