import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

// The package as its users get it: packed, unpacked into their node_modules, imported, required and type-checked.

const ROOT = resolve(__dirname, '../../..');
const CLIENT = join(ROOT, 'clients/typescript');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const run = promisify(execFile);

const USE = `
const rl: RL = new RL({ baseUrl: 'http://127.0.0.1:1', fetch: (url, init) => globalThis.fetch(url, init) });
new RL({ baseUrl: 'http://127.0.0.1:1', apiKey: process.env['KEY'], timeoutMs: 5, fetch, parseJson: JSON.parse });
async function use(signal: AbortSignal): Promise<number> {
  const workers: Worker[] = await rl.workers({ signal });
  const version: string | null | undefined = workers[0]?.weightVersion;
  await rl.setVersion('w', version ?? 1);
  await rl.setFleetVersion(2n, { selector: 'engine=sglang', signal });
  await rl.setState('w', workers[0]?.control ?? 'paused');
  await rl.setFleetState('active', { selector: 'engine=sglang' });
  const result: CallResult = await rl.call('w', 'wake_up', undefined, { params: { tags: ['a', 1] }, method: 'POST' });
  const report: FanoutResult = await rl.fanout('x', {}, { selector: 'a=b', allowPartial: true, timeoutMs: 5 });
  // @ts-expect-error a fan-out without a selector
  await rl.fanout('x', {});
  // @ts-expect-error no state
  await rl.setState('w', 'napping');
  // @ts-expect-error for reading only
  result.status = 1;
  return paused(rl, 'a=b', (pause) => pause.succeeded + report.failed.length, { mode: 'abort' });
}
function told(error: unknown): string | undefined {
  if (error instanceof FanoutError) return error.result.failed[0]?.connectionMode ?? undefined;
  if (error instanceof RlError) return error.code;
  return undefined;
}
void use; void told;
`;
const NAMES = 'RL, RlError, FanoutError, paused';
const TYPES = 'type Worker, type CallResult, type FanoutResult';
const PROBE = `
console.log([RL, RlError, FanoutError, paused].map(({ name }) => name).join());
console.log(new FanoutError({ results: {}, failed: [], total: 0, succeeded: 0 }) instanceof RlError);
const server = createServer((_, answer) => answer.end('{"workers":[]}')).listen(0, '127.0.0.1', async () => {
  console.log(await new RL({ baseUrl: 'http://127.0.0.1:' + server.address().port }).workers());
  server.close();
});
`;

let home: string;
let packed: readonly { readonly path: string }[];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'smg-rl-'));
  const source = join(home, 'source');
  for (const part of [
    ...['package.json', 'README.md', 'LICENSE', 'src'],
    ...['tsconfig.base.json', 'tsconfig.cjs.json', 'tsconfig.esm.json'],
  ]) {
    cpSync(join(CLIENT, part), join(source, part), { recursive: true });
  }
  const modules = join(home, 'node_modules');
  mkdirSync(join(modules, 'smg-rl'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/@types'), join(modules, '@types'));
  const options = {
    cwd: source,
    env: {
      ...process.env,
      PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
    },
  };
  await run('npm', ['run', 'build'], options);
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], options);
  const [{ filename, files }] = JSON.parse(stdout);
  packed = files;
  const target = join(modules, 'smg-rl');
  await run('tar', ['-xzf', join(source, filename), '--strip-components=1', '-C', target]);
}, 120_000);
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const node = async (file: string, text: string): Promise<string> => {
  writeFileSync(join(home, file), text);
  return (await run(process.execPath, [file], { cwd: home })).stdout;
};
const SAID = 'RL,RlError,FanoutError,paused\ntrue\n[]\n';

describe('the package', () => {
  it('has both builds with types, the page and the license, and nothing else', () => {
    const paths = packed.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['LICENSE', 'README.md', 'package.json', 'dist/esm/package.json'],
        ...['cjs', 'esm'].flatMap((kind) => [`dist/${kind}/index.js`, `dist/${kind}/index.d.ts`]),
      ]),
    );
    const others = paths.filter((path) => !/^dist\/(cjs|esm)\/[a-z-]+(\.d\.ts|\.js)$/.test(path));
    expect(others.sort()).toEqual([
      'LICENSE',
      'README.md',
      'dist/esm/package.json',
      'package.json',
    ]);
  });

  it('has no dependencies', () => {
    const manifest = jest.requireActual<Record<string, unknown>>('../package.json');
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
      expect(manifest[kind]).toBeUndefined();
    }
  });

  it.each(['smg-rl', 'smg-gateway/client'])('%s can be imported and required', async (name) => {
    if (name === 'smg-gateway/client') {
      symlinkSync(ROOT, join(home, 'node_modules/smg-gateway'));
    }
    expect(
      await node(
        'probe.mjs',
        `import { ${NAMES} } from '${name}';\nimport { createServer } from 'node:http';\n${PROBE}`,
      ),
    ).toBe(SAID);
    expect(
      await node(
        'probe.cjs',
        `const { ${NAMES} } = require('${name}');\nconst { createServer } = require('node:http');\n${PROBE}`,
      ),
    ).toBe(SAID);
  });

  it('is an ES module to those who import it', async () => {
    const text = `console.log(import.meta.resolve('smg-rl').split('/dist/')[1]);`;
    expect(await node('where.mjs', text)).toBe('esm/index.js\n');
    const required = `console.log(require.resolve('smg-rl').split(/.dist./)[1]);`;
    expect((await node('where.cjs', required)).trim()).toMatch(/^cjs.index\.js$/);
  });

  const OPTIONS = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'ES2022'];
  it.each([
    ['node16, imported and required', ['use.mts', 'use.cts'], 'node16', 'node16', ['ES2022']],
    ['a bundler', ['use.ts'], 'ESNext', 'bundler', ['ES2022']],
    ['a bundler, and the types of browsers', ['use.ts'], 'ESNext', 'bundler', ['ES2022', 'DOM']],
  ])(
    'has types for %s',
    async (_, files, module, moduleResolution, lib) => {
      for (const file of files) {
        writeFileSync(join(home, file), `import { ${NAMES}, ${TYPES} } from 'smg-rl';\n${USE}`);
      }
      // Without --skipLibCheck: the declarations themselves are looked at.
      const argv = [
        ...OPTIONS,
        ...['--module', module, '--moduleResolution', moduleResolution],
        ...['--lib', lib.join(), '--types', 'node', ...files],
      ];
      const { stdout } = await run(process.execPath, [TSC, ...argv], { cwd: home }).catch(
        (error: unknown) => error as { stdout: string },
      );
      expect(stdout).toBe('');
    },
    90_000,
  );
});
