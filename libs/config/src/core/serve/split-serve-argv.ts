import { type GivenValue } from '../given-value';
import { nearest } from '../nearest';
import { OPTIONS_BY_FLAG } from '../option-table';
import { type AnyOption } from '../option';
import { SERVE_OPTIONS } from './serve.options';

/** How flags of the gateway are told from those of an engine. */
export const GATEWAY_PREFIX = 'router-';

/** Flags of the gateway that `serve` sets itself, and what to write instead. */
const OWNED: ReadonlyMap<string, string> = new Map([
  ['host', 'is written --host'],
  ['port', 'is written --port'],
  ['worker-urls', 'the workers are the engines that serve starts'],
]);

/** Accepted and dropped: launch scripts pass it on. */
const IGNORED = 'worker-urls';

const SERVE_BY_FLAG: ReadonlyMap<string, AnyOption> = new Map(
  (SERVE_OPTIONS as readonly AnyOption[]).flatMap((row) =>
    [row.flag, ...row.aliases].map((name) => [name, row] as const),
  ),
);

/** The arguments after `serve`, by who gets them. */
export interface ServeArgv {
  readonly serve: readonly GivenValue[];
  readonly gateway: readonly GivenValue[];
  /** Everything else, as it was written. */
  readonly engine: readonly string[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

interface Found {
  readonly label: string;
  readonly isServe: boolean;
  count: number;
  readonly words: string[];
}

/**
 * Tells the flags of `serve` and the `--router-` flags from what an engine gets. What follows a lone
 * `--` goes to the engine whatever it looks like.
 */
export function splitServeArgv(argv: readonly string[]): ServeArgv {
  const end = argv.indexOf('--');
  const words = end < 0 ? argv : argv.slice(0, end);
  const found = new Map<AnyOption, Found>();
  const engine: string[] = [];
  const problems: string[] = [];
  const warnings: string[] = [];

  for (let at = 0; at < words.length;) {
    const word = words[at] ?? '';
    at += 1;
    const flag = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word);
    const name = flag?.[1] ?? '';
    const inline = flag?.[2];
    if (name === IGNORED) {
      while (isValue(words[at])) at += 1;
      warnings.push(`--${IGNORED} has no effect: ${OWNED.get(IGNORED) ?? ''}`);
      continue;
    }
    const isServe = SERVE_BY_FLAG.has(name);
    const option = SERVE_BY_FLAG.get(name) ?? gatewayOption(name, problems);
    if (option === undefined) {
      engine.push(word);
      continue;
    }
    const label = isServe ? `--${option.flag}` : `--${GATEWAY_PREFIX}${option.flag}`;
    const seen = found.get(option) ?? { label, isServe, count: 0, words: [] };
    found.set(option, seen);
    seen.count += 1;
    const { arity, mayBeEmpty } = option.kind;
    if (arity === 'none') {
      if (inline !== undefined) problems.push(`${label}: takes no value`);
      continue;
    }
    const before = seen.words.length;
    if (inline !== undefined) seen.words.push(inline);
    const room = arity === 'many' ? Infinity : 1;
    while (isValue(words[at]) && seen.words.length - before < room) {
      seen.words.push(words[at] ?? '');
      at += 1;
    }
    if (seen.words.length === before && !mayBeEmpty) {
      problems.push(`${label}: needs a value (write ${label}=VALUE if it starts with -)`);
    }
  }
  if (end >= 0) engine.push(...argv.slice(end + 1));

  const given = [...found].map(([option, { label, isServe, count, words: all }]) => {
    if (option.kind.arity === 'one' && count > 1) {
      warnings.push(`${label} is given ${count} times; the last value counts`);
    }
    return { isServe, value: { option, label, raw: { form: 'words', words: all } } as const };
  });
  const hasValue = ({ option, raw }: GivenValue): boolean =>
    option.kind.mayBeEmpty || (raw.form === 'words' && raw.words.length > 0);
  const of = (isServe: boolean): GivenValue[] =>
    given
      .filter((one) => one.isServe === isServe)
      .map(({ value }) => value)
      .filter(hasValue);
  return { serve: of(true), gateway: of(false), engine, problems, warnings };
}

function isValue(word: string | undefined): boolean {
  return word?.startsWith('-') === false;
}

/** The option of the gateway that a `--router-` flag names; what cannot be is told. */
function gatewayOption(name: string, problems: string[]): AnyOption | undefined {
  if (!name.startsWith(GATEWAY_PREFIX)) return undefined;
  const flag = name.slice(GATEWAY_PREFIX.length);
  const option = OPTIONS_BY_FLAG.get(flag);
  const owned = option === undefined ? undefined : OWNED.get(option.flag);
  if (owned !== undefined) problems.push(`--${name}: ${owned}`);
  else if (option !== undefined) return option;
  else {
    const near = nearest(flag, OPTIONS_BY_FLAG.keys());
    const hint = near === undefined ? '' : `; did you mean --${GATEWAY_PREFIX}${near}?`;
    problems.push(`--${GATEWAY_PREFIX}${printable(flag)}: unknown flag${hint}`);
  }
  return undefined;
}

/** A flag that is none may be anything. */
function printable(flag: string): string {
  return /^[A-Za-z][\w-]{0,60}$/.test(flag) ? flag : '…';
}
