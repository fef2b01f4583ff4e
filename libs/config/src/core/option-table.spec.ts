import { parseCommandLine } from '../parse-command-line';
import { fileKey, type AnyOption } from './option';
import { OPTION_TABLE } from './option-table';
import { MASK } from './kinds/texts';

function launch(argv: readonly string[], env: Record<string, string> = {}, file = '{}') {
  return parseCommandLine(argv, { env, readFile: () => file }, { short: '', verbose: '' });
}

const rows = (availability: AnyOption['availability']) =>
  OPTION_TABLE.filter((option) => option.availability === availability);

const named = (options: readonly AnyOption[]) =>
  options.map((option) => [option.flag, option] as const);

/** Words that every kind of the inert options takes. */
const wordsOf = (option: AnyOption) => (option.kind.arity === 'none' ? [] : ['1']);

describe('option table', () => {
  it.each(named(OPTION_TABLE))(
    '--%s has a doc, a default that obeys its rule, a name',
    (_, option) => {
      expect(option.doc).toMatch(/^\S.{10,}\.$/s);
      expect(option.flag).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
      const json = option.kind.toJson(option.default);
      expect(option.kind.fromJson(json)).toEqual({ ok: true, value: option.default });
    },
  );

  it('masks every secret, and marks whatever is masked as secret', () => {
    for (const { flag, secret, kind } of OPTION_TABLE) {
      const masked = /secret|tenant_id:key|id:name:role:key/.test(kind.label);
      expect({ flag, secret }).toEqual({ flag, secret: masked });
    }
    const apiKey = OPTION_TABLE.find(({ flag }) => flag === 'api-key');
    expect(apiKey?.kind.toJson('k')).toBe(MASK);
  });

  describe.each(named(rows('unavailable')))('--%s, not built yet', (flag, option) => {
    const line = (label: string) => ({
      kind: 'error',
      text: `error: ${label}: not available in this version`,
      exitCode: 2,
    });

    it('stops the start by flag, with and without a value', () => {
      expect(launch([`--${flag}`])).toEqual(line(`--${flag}`));
      if (option.kind.arity === 'none') return;
      expect(launch(['launch', `--${flag}`, 'any'])).toEqual(line(`--${flag}`));
    });

    it('stops the start by file, under every spelling', () => {
      for (const spelling of [flag, ...option.aliases].map(fileKey)) {
        const file = JSON.stringify({ [spelling]: false });
        expect(launch(['--config', 'f'], {}, file)).toEqual(line(`${spelling} (config file)`));
      }
    });

    it('stops the start by environment, where it has a variable', () => {
      if (option.env === undefined) return;
      expect(launch([], { [option.env]: 'x' })).toEqual(line(`--${flag} (${option.env})`));
    });
  });

  it.each(named(rows('inert')))('--%s has no effect and says why', (flag, option) => {
    expect(launch([`--${flag}`, ...wordsOf(option)])).toMatchObject({
      kind: 'run',
      warnings: [expect.stringMatching(new RegExp(`^--${flag} has no effect: \\w`))],
    });
  });

  it.each(named(rows('command')))('--%s cannot stand in a config file', (flag) => {
    const file = JSON.stringify({ [fileKey(flag)]: true });
    expect(launch(['--config', 'f'], {}, file)).toMatchObject({
      text: `error: ${fileKey(flag)} (config file): belongs on the command line`,
    });
  });
});
