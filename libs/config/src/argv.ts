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

/** Splits the arguments of `launch` into what each option was given. Nothing is interpreted yet. */
export function readArgv(argv: readonly string[]): ArgvReading {
  const found = new Map<AnyOption, Occurrences>();
  const { operands, unknown } = buildParser(found).parseOptions([...argv]);
  const problems = [...describeStrays(argv, operands, unknown)];
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
): Iterable<string> {
  const afterSecret = new Set(
    argv.filter((_, index) => isSecretFlag(argv[index - 1]) && argv[index]?.startsWith('-')),
  );
  const first = argv[0];
  for (const word of operands) {
    if (word === 'launch' || word === 'start') {
      yield `flags before ${word} conflict with it; write them after it`;
    } else if (word === first && /^[a-z][a-z-]*$/.test(word)) {
      yield `${word}: unknown command; the commands are launch, start, mock-engine, config-docs`;
    } else {
      yield strayArgument(argv, word);
    }
  }
  for (const word of unknown) {
    const name = /^--([A-Za-z][\w-]*)/.exec(word)?.[1];
    // The word was reported as the missing value of the secret flag before it.
    if (afterSecret.has(word)) continue;
    if (word === 'launch' || word === 'start') {
      yield `flags before ${word} conflict with it; write them after it`;
    } else if (name === undefined) {
      // Most likely the value of an unknown flag, which is reported itself.
      if (word.startsWith('-')) yield strayArgument(argv, word);
    } else if (OPTIONS_BY_FLAG.has(name)) {
      yield `--${name}: takes no value`;
    } else {
      const near = nearest(name, OPTIONS_BY_FLAG.keys());
      yield `--${name}: unknown flag${near === undefined ? '' : `; did you mean --${near}?`}`;
    }
  }
}

function strayArgument(argv: readonly string[], word: string): string {
  return `argument ${argv.indexOf(word) + 1} belongs to no flag; flags are written --name`;
}

function isSecretFlag(word: string | undefined): boolean {
  return word?.startsWith('--') === true && OPTIONS_BY_FLAG.get(word.slice(2))?.secret === true;
}
