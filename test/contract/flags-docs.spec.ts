import { OPTION_TABLE, SERVE_OPTIONS, type AnyOption } from '@smg/config';
import { runMockEngine } from '../../src/cli/mock-engine.command';
import { rlFlags } from './support/rl-flags';
import { codeSpans, filesBelow, splitFences, textOf } from './support/pages';

const FLAG = /(?<![\w-])--[a-z][a-z0-9-]*/g;

/** Flags of `smg launch`. */
const gatewayFlags = new Set([
  ...OPTION_TABLE.flatMap(({ flag, aliases }) => [flag, ...aliases].map((name) => `--${name}`)),
  '--help',
  '--version',
  '--version-verbose',
  // How the pages write "any flag".
  '--flag',
]);

/** Flags of `smg mock-engine`, as its help names them. */
async function mockEngineFlags(): Promise<Set<string>> {
  let help = '';
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    help += String(text);
    return true;
  });
  try {
    await runMockEngine(['--help']).catch(() => undefined);
  } finally {
    write.mockRestore();
  }
  return new Set(help.match(FLAG) ?? []);
}

/** Flags of `smg serve`: its own, those of the gateway with their prefix, and some of engines. */
const serveFlags = new Set([
  ...(SERVE_OPTIONS as readonly AnyOption[]).flatMap(({ flag, aliases }) =>
    [flag, ...aliases].map((name) => `--${name}`),
  ),
  ...OPTION_TABLE.flatMap(({ flag, aliases }) =>
    [flag, ...aliases].map((name) => `--router-${name}`),
  ),
  ...['--model-path', '--model', '--tp-size', '--api-key', '--help'],
  // How the pages write "any flag of the gateway".
  ...['--router-', '--router'],
]);

/** Flags that the commands of `smg rl` share among them. */
const cliFlags: Readonly<Record<string, ReadonlySet<string>>> = {
  serve: serveFlags,
  rl: rlFlags(),
};

/** Flags that our other programs declare; their source is where they are defined. */
function flagsDeclaredIn(folder: string): string[] {
  return filesBelow(folder, '.ts').flatMap((path) => textOf(path).match(FLAG) ?? []);
}

/** Commands of code blocks, one line each, comments cut off. */
function commandsOf(page: string): string[] {
  return splitFences(page)
    .blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, ' ').split('\n'))
    .map((line) => line.replace(/^\$ /, '').replace(/\s#\s.*$/, ''));
}

const PROGRAM = /^(?:[A-Z_]+=\S+ )*(?:npx )?(?:smg|node \S*dist\/src\/main\.js)\s+(.*)$/;

describe('flags in the pages', () => {
  const pages = filesBelow('.', '.md');

  it.each(pages)('%s: commands of the program use flags that exist', async (path) => {
    const mock = await mockEngineFlags();
    const unknown = commandsOf(textOf(path)).flatMap((line) => {
      const rest = PROGRAM.exec(line)?.[1];
      if (rest === undefined) return [];
      const [name = ''] = rest.split(' ', 1);
      const known = cliFlags[name] ?? (name === 'mock-engine' ? mock : gatewayFlags);
      return (rest.match(FLAG) ?? [])
        .filter((flag) => !known.has(flag))
        .map((it) => `${it}: ${line}`);
    });
    expect(unknown).toEqual([]);
  });

  it.each(pages)('%s: flags named in the text exist', async (path) => {
    const known = new Set([
      ...gatewayFlags,
      ...(await mockEngineFlags()),
      ...serveFlags,
      ...rlFlags(),
      ...flagsDeclaredIn('examples/demo'),
      ...flagsDeclaredIn('examples/rl'),
      ...flagsDeclaredIn('examples/oidc'),
      ...flagsDeclaredIn('bench'),
    ]);
    const { prose } = splitFences(textOf(path));
    const spans = codeSpans(prose).filter(
      (span) => !/^(npm|npx|node|git|curl|ulimit|docker|jest) /.test(span),
    );
    const unknown = spans
      .flatMap((span) => span.match(FLAG) ?? [])
      .filter((flag) => !known.has(flag));
    expect(unknown).toEqual([]);
  });

  it('would notice: the commands are found', () => {
    const all = pages.flatMap((path) => commandsOf(textOf(path)));
    expect(all.filter((line) => PROGRAM.test(line)).length).toBeGreaterThan(5);
    expect(gatewayFlags.has('--no-such-flag')).toBe(false);
  });
});
