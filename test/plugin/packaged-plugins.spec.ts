import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

// Plug-ins as their authors ship them: compiled apart, against the built package, in a directory
// where it is installed under its own name. Needs `npm run build` (npm test does it).

const ROOT = resolve(__dirname, '../..');
const run = promisify(execFile);

let home: string;
beforeAll(async () => {
  if (!existsSync(join(ROOT, 'dist/libs/plugin-host/src/index.js'))) {
    throw new Error('dist/ is missing: npm run build');
  }
  home = mkdtempSync(join(tmpdir(), 'smg-author-'));
  mkdirSync(join(home, 'node_modules'));
  symlinkSync(ROOT, join(home, 'node_modules/smg-gateway'));
  for (const scope of ['@nestjs', '@types']) {
    symlinkSync(join(ROOT, 'node_modules', scope), join(home, 'node_modules', scope));
  }
  const example = join(ROOT, 'examples/gpu-class-filter');
  for (const part of ['package.json', 'tsconfig.build.json', 'src']) {
    cpSync(join(example, part), join(home, part), { recursive: true });
  }
  await run(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(home, 'tsconfig.build.json'),
  ]);
}, 120_000);

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

/** Loads a specifier with the built loader, in a process of its own, where `import()` is real. */
async function load(specifier: string): Promise<string> {
  const script = `
    const { loadPlugin } = require(${JSON.stringify(join(ROOT, 'dist/libs/plugin-host/src'))});
    loadPlugin(${JSON.stringify(specifier)}, ${JSON.stringify(home)}).then(
      (modules) => console.log(modules.map((m) => m.name).join()),
      (error) => console.log('refused: ' + error.message),
    );`;
  const { stdout } = await run(process.execPath, ['-e', script]);
  return stdout.trim();
}

describe('a packaged plug-in', () => {
  it('compiles against the package exports and loads as CommonJS', async () => {
    await expect(load('./dist/gpu-class.plugin.js')).resolves.toBe('GpuClassPlugin');
  });

  it('passes its own tests', async () => {
    const { stdout } = await run(process.execPath, [
      '--test',
      join(home, 'dist/gpu-class.filter.test.js'),
    ]);
    expect(stdout).toMatch(/# fail 0/);
    expect(stdout).toMatch(/# pass 3/);
  });

  it('loads as an ES module, by path and by package name', async () => {
    const source = `
      import { Module } from '@nestjs/common';
      import { CANDIDATE_FILTER } from 'smg-gateway/plugin';
      export default class EsmPlugin {}
      Module({ providers: CANDIDATE_FILTER.provide({ label: 'esm', useFactory: () => ({}) }) })(EsmPlugin);`;
    writeFileSync(join(home, 'esm.plugin.mjs'), source);
    const packaged = join(home, 'node_modules/acme-plugin');
    mkdirSync(packaged);
    writeFileSync(
      join(packaged, 'package.json'),
      '{"type":"module","exports":{"import":"./plugin.js"}}',
    );
    writeFileSync(join(packaged, 'plugin.js'), source);
    await expect(load('./esm.plugin.mjs')).resolves.toBe('EsmPlugin');
    await expect(load('acme-plugin')).resolves.toBe('EsmPlugin');
  });

  it('is refused with a clear word when it cannot be used', async () => {
    writeFileSync(join(home, 'empty.mjs'), 'export const nothing = 1;');
    await expect(load('./empty.mjs')).resolves.toBe(
      "refused: plug-in './empty.mjs' exports no class decorated with @Module",
    );
    await expect(load('./nowhere.js')).resolves.toContain("'./nowhere.js' was not found");
  });
});
