import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadPlugin } from './plugin-loader';

const nest = JSON.stringify(require.resolve('@nestjs/common'));
const MODULE = `const { Module } = require(${nest});
const plugin = (name, more) => { const C = { [name]: class {} }[name]; Object.assign(C, more); Module({ providers: [] })(C); return C; };
`;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'smg-plugin-'));
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Stands in for `import()`, which the test runner does not have: a namespace around `require`. */
async function importCommonJs(url: string): Promise<unknown> {
  const exports: unknown = createRequire(__filename)(fileURLToPath(url));
  return { default: exports, ...(exports as object) };
}

const load = async (specifier: string) => {
  const modules = await loadPlugin(specifier, home, importCommonJs);
  return modules.map((module) => (typeof module === 'function' ? module.name : 'dynamic'));
};

describe('loadPlugin', () => {
  it.each([
    ['the only module class', `exports.Helper = class {}; exports.A = plugin('A');`, ['A']],
    ['module.exports itself', `module.exports = plugin('B');`, ['B']],
    [
      'the default export of several',
      `exports.__esModule = true; exports.default = plugin('C'); exports.D = plugin('D');`,
      ['C'],
    ],
    ['a default list', `exports.default = [plugin('E'), plugin('F')];`, ['E', 'F']],
    [
      'a configured module',
      `exports.default = { module: plugin('G'), providers: [] };`,
      ['dynamic'],
    ],
  ])('finds %s', async (title, body, expected) => {
    const file = `./${title.replaceAll(/\W/g, '-')}.cjs`;
    write(file, MODULE + body);
    await expect(load(file)).resolves.toEqual(expected);
  });

  it.each([
    ['no module', 'exports.A = class {};', /exports no class decorated with @Module/],
    [
      'two modules and no default',
      `exports.A = plugin('A'); exports.B = plugin('B');`,
      /exports several modules \(A, B\)/,
    ],
    ['a failing file', `throw new Error('no licence');`, /failed to load: no licence/],
    [
      'another API',
      `exports.Old = plugin('Old', { smgPluginApi: '^0.9.0' });`,
      /Old was built for plug-in API \^0\.9\.0, but this gateway offers 1\./,
    ],
    [
      'an unreadable range',
      `exports.Odd = plugin('Odd', { smgPluginApi: 'latest' });`,
      /Odd: smgPluginApi "latest" is no version range/,
    ],
  ])('refuses %s', async (title, body, message) => {
    const file = `./bad-${title.replaceAll(/\W/g, '-')}.cjs`;
    write(file, MODULE + body);
    await expect(load(file)).rejects.toThrow(message);
  });

  it('takes file URLs', async () => {
    write('url.cjs', `${MODULE}module.exports = plugin('ByUrl');`);
    await expect(load(pathToFileURL(join(home, 'url.cjs')).href)).resolves.toEqual(['ByUrl']);
  });

  it('finds packages from the directory it is given, whatever conditions they export', async () => {
    const body = `${MODULE}module.exports = plugin('Packaged');`;
    write('node_modules/old-style/package.json', '{"main":"lib.cjs"}');
    write('node_modules/old-style/lib.cjs', body);
    write(
      'node_modules/@acme/new-style/package.json',
      '{"exports":{".":{"types":"./no.d.ts","import":{"default":"./lib.cjs"}}}}',
    );
    write('node_modules/@acme/new-style/lib.cjs', body);
    await expect(load('old-style')).resolves.toEqual(['Packaged']);
    await expect(load('@acme/new-style')).resolves.toEqual(['Packaged']);
  });

  it.each(['./missing.cjs', 'missing-package'])('says that %s was not found', async (specifier) => {
    await expect(load(specifier)).rejects.toThrow(`plug-in '${specifier}' was not found from`);
  });

  it('tells a path without its dot from the name of a package', async () => {
    write('bare/path.cjs', `${MODULE}module.exports = plugin('Bare');`);
    await expect(load('bare/path.cjs')).rejects.toThrow("write './bare/path.cjs'");
  });
});
