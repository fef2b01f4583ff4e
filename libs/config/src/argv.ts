import { Command, Option } from 'commander';
import { type GivenValue } from './core/given-value';
import { nearest } from './core/nearest';
import { OPTION_TABLE, OPTIONS_BY_FLAG } from './core/option-table';
import { type AnyOption } from './core/option';

export interface ArgvReading {
  readonly given: readonly GivenValue[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

interface Occurrences {
  count: number;
  /** Some occurrence had no word. */
  bare: boolean;
  readonly words: string[];
}

/** Splits the arguments into what each option was given. Nothing is interpreted yet. */
export function readArgv(args: readonly string[]): ArgvReading {
  const named = args[0] === 'launch' || args[0] === 'start';
  const argv = named ? args.slice(1) : args;
  const found = new Map<AnyOption, Occurrences>();
  const { operands, unknown } = buildParser(found).parseOptions([...argv]);
  const problems = [...describeStrays(argv, operands, unknown, named)];
  const warnings: string[] = [];
  const given: GivenValue[] = [];
  for (const [option, { count, bare, words }] of found) {
    const label = `--${option.flag}`;
    if (option.availability !== 'unavailable' && bare && !option.kind.mayBeEmpty) {
      problems.push(`${label}: needs a value (write ${label}=VALUE if it starts with -)`);
      continue;
    }
    if (option.kind.arity === 'one' && count > 1) {
      warnings.push(`${label} is given ${count} times; the last value counts`);
    }
    given.push({ option, label, raw: { form: 'words', words } });
  }
  return { given, problems, warnings };
}

/**
 * commander does the splitting and nothing else. Values are declared optional so that a flag is
 * never swallowed as the value of the flag before it (`--api-key --log-json`).
 */
function buildParser(found: Map<AnyOption, Occurrences>): Command {
  const parser = new Command('launch').helpOption(false);
  for (const option of OPTION_TABLE) {
    for (const flag of [option.flag, ...option.aliases]) {
      const shape = { none: '', one: ' [value]', many: ' [values...]' }[option.kind.arity];
      parser.addOption(new Option(`--${flag}${shape}`));
      parser.on(`option:${flag}`, (word?: string | null) => {
        const seen = found.get(option) ?? { count: 0, bare: false, words: [] };
        found.set(option, seen);
        seen.count++;
        if (typeof word === 'string') seen.words.push(word);
        else seen.bare = true;
      });
    }
  }
  return parser;
}

/** Words that belong to no option. They may be misplaced secrets, so only flags are repeated. */
function* describeStrays(
  argv: readonly string[],
  operands: readonly string[],
  unknown: readonly string[],
  named: boolean,
): Iterable<string> {
  // Such a word is reported already, as the missing value of the secret flag before it.
  const afterSecret = new Set(
    argv.filter((word, index) => isSecretFlag(argv[index - 1]) && word.startsWith('-')),
  );
  for (const word of [...operands, ...unknown]) {
    if (!named && (word === 'launch' || word === 'start')) {
      yield `flags before ${word} conflict with it; write them after it`;
    } else if (word.startsWith('-')) {
      if (!afterSecret.has(word)) yield describeFlag(argv, word);
    } else if (!named && word === argv[0] && /^[a-z][a-z-]*$/.test(word)) {
      yield `${word}: unknown command; the commands are launch, start, serve, rl, mock-engine, config-docs, openapi; --help explains`;
    } else if (operands.includes(word)) {
      yield strayArgument(argv, word);
    }
    // Anything else stands behind an unknown flag, most likely as its value.
  }
}

/** One letter behind one dash: too short to be a secret. */
const SHORT_FLAG = /^-[A-Za-z]$/;

/** A word with a dash that the parser did not take. */
function describeFlag(argv: readonly string[], word: string): string {
  const name = /^--([A-Za-z][\w-]*)/.exec(word)?.[1];
  if (SHORT_FLAG.test(word)) return `${word}: unknown flag; flags are written --name`;
  if (name === undefined) return strayArgument(argv, word);
  if (OPTIONS_BY_FLAG.has(name)) return `--${name}: takes no value`;
  const near = nearest(name, OPTIONS_BY_FLAG.keys());
  return `--${name}: unknown flag${near === undefined ? '' : `; did you mean --${near}?`}`;
}

/** Says where the word stands instead of what it is. */
function strayArgument(argv: readonly string[], word: string): string {
  const before = argv.slice(0, argv.indexOf(word)).findLast((other) => other.startsWith('--'));
  const flag = before?.slice(2).split('=', 1)[0] ?? '';
  return OPTIONS_BY_FLAG.has(flag)
    ? `--${flag}: is followed by an argument that belongs to no flag`
    : 'an argument belongs to no flag; flags are written --name';
}

function isSecretFlag(word: string | undefined): boolean {
  return word?.startsWith('--') === true && OPTIONS_BY_FLAG.get(word.slice(2))?.secret === true;
}
