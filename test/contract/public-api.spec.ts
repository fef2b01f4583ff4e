import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { ROOT, textOf } from './support/pages';

const SNAPSHOT = 'test/contract/public-api.json';

interface Names {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

type PublicApi = Readonly<Record<string, Names>>;

interface PackageJson {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Entry points of the package to their source: `./plugin` → `libs/plugin-api/src/index.ts`. */
function entryPoints(): [entry: string, source: string][] {
  const { exports } = JSON.parse(textOf('package.json')) as PackageJson;
  return Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string'
      ? []
      : [[entry, target.default.replace('./dist/', '').replace(/\.js$/, '.ts')]],
  );
}

/** Names an index file exports. @throws Error for `export *`, which hides what is public. */
function namesOf(source: string): Names {
  const file = ts.createSourceFile(source, textOf(source), ts.ScriptTarget.Latest);
  const values: string[] = [];
  const types: string[] = [];
  for (const statement of file.statements) {
    if (!ts.isExportDeclaration(statement)) continue;
    const { exportClause } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) {
      throw new Error(`${source}: name what is exported instead of export *`);
    }
    for (const { name, isTypeOnly } of exportClause.elements) {
      (isTypeOnly || statement.isTypeOnly ? types : values).push(name.text);
    }
  }
  return { values: values.sort(), types: types.sort() };
}

/** `+ ./plugin: NewThing` and `- ./plugin: OldThing`. */
function differences(recorded: PublicApi, actual: PublicApi): string[] {
  const flat = (api: PublicApi): string[] =>
    Object.entries(api).flatMap(([entry, { values, types }]) => [
      ...values.map((name) => `${entry}: ${name}`),
      ...types.map((name) => `${entry}: type ${name}`),
    ]);
  const before = flat(recorded);
  const after = flat(actual);
  return [
    ...before.filter((name) => !after.includes(name)).map((name) => `- ${name}`),
    ...after.filter((name) => !before.includes(name)).map((name) => `+ ${name}`),
  ];
}

describe('the public API', () => {
  const actual: PublicApi = Object.fromEntries(
    entryPoints().map(([entry, source]) => [entry, namesOf(source)]),
  );

  it('has the entry points of package.json, each with a source', () => {
    expect(Object.keys(actual)).toEqual(['.', './plugin', './testing', './client']);
    for (const [, source] of entryPoints()) expect(existsSync(join(ROOT, source))).toBe(true);
  });

  it(`is what ${SNAPSHOT} says`, () => {
    const changed = differences(JSON.parse(textOf(SNAPSHOT)) as PublicApi, actual);
    if (changed.length === 0) return;
    throw new Error(
      `The public API changed:\n  ${changed.join('\n  ')}\n` +
        `If that is meant: edit ${SNAPSHOT} and add a line to CHANGELOG.md. ` +
        'What disappears or changes its meaning needs a new major version; what ./plugin gains, a new minor PLUGIN_API_VERSION.',
    );
  });
});
