import { dirname, join } from 'node:path';
import * as ts from 'typescript';
import { ROOT, textOf } from './support/pages';

/** Pages whose TypeScript blocks are whole files. */
const PAGES = ['README.md', 'docs/guides/extending.md'];

/** What the tsconfig.json of the guide says, for a program that is not written anywhere. */
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  noEmit: true,
  baseUrl: ROOT,
  paths: {
    '@smg/*': ['libs/*/src'],
    'smg-gateway': ['src'],
    'smg-gateway/plugin': ['libs/plugin-api/src'],
    'smg-gateway/testing': ['libs/testing/src'],
  },
};

/** Blocks of a page as files in a folder of their own that does not exist; a line `src/name.ts`: before a block names it. */
function filesOf(page: string): Map<string, string> {
  const folder = join(ROOT, 'snippets', page.replaceAll(/\W/g, '-'));
  const blocks = textOf(page).matchAll(/(?:^`src\/(\S+\.ts)`:\n\n)?^```ts\n([\s\S]*?)^```$/gm);
  return new Map(
    [...blocks].map((match, index) => [
      join(folder, match[1] ?? `block-${index + 1}.ts`),
      match[2] ?? '',
    ]),
  );
}

/** Errors the compiler finds in `files`, as `name:line message`. */
function complaints(files: ReadonlyMap<string, string>): string[] {
  const real = ts.createCompilerHost(OPTIONS);
  const folders = new Set([...files.keys()].map((path) => dirname(path)));
  const host: ts.CompilerHost = {
    ...real,
    directoryExists: (path) => folders.has(path) || real.directoryExists?.(path) === true,
    fileExists: (path) => files.has(path) || real.fileExists(path),
    readFile: (path) => files.get(path) ?? real.readFile(path),
    getSourceFile: (path, language) => {
      const text = files.get(path);
      return text === undefined
        ? real.getSourceFile(path, language)
        : ts.createSourceFile(path, text, language);
    },
  };
  const program = ts.createProgram([...files.keys()], OPTIONS, host);
  return [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ].map(({ messageText, start = 0 }) => {
      const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
      return `${path.slice(ROOT.length + 1)}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}

describe('TypeScript in the pages', () => {
  it('compiles', () => {
    const files = new Map(PAGES.flatMap((page) => [...filesOf(page)]));
    expect(files.size).toBeGreaterThan(5);
    expect(complaints(files)).toEqual([]);
  }, 120_000);
});
