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
  const splitter = new Splitter(end < 0 ? argv : argv.slice(0, end));
  return splitter.split(end < 0 ? [] : argv.slice(end + 1));
}

class Splitter {
  private at = 0;
  private readonly found = new Map<AnyOption, Found>();
  private readonly engine: string[] = [];
  private readonly problems: string[] = [];
  private readonly warnings: string[] = [];

  constructor(private readonly words: readonly string[]) {}

  split(rest: readonly string[]): ServeArgv {
    while (this.at < this.words.length) this.next(this.words[this.at++] ?? '');
    this.engine.push(...rest);
    const { engine, problems, warnings } = this;
    return { serve: this.given(true), gateway: this.given(false), engine, problems, warnings };
  }

  private next(word: string): void {
    const flag = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word);
    const name = flag?.[1] ?? '';
    if (name === IGNORED) {
      while (isValue(this.words[this.at])) this.at += 1;
      this.warnings.push(`--${IGNORED} has no effect: ${OWNED.get(IGNORED) ?? ''}`);
      return;
    }
    const own = SERVE_BY_FLAG.get(name);
    if (own !== undefined) {
      this.take(own, { label: `--${own.flag}`, isServe: true, count: 0, words: [] }, flag?.[2]);
    } else if (name.startsWith(GATEWAY_PREFIX)) {
      const option = gatewayOption(name, this.problems);
      if (option === undefined) return;
      const label = `--${GATEWAY_PREFIX}${option.flag}`;
      this.take(option, { label, isServe: false, count: 0, words: [] }, flag?.[2]);
    } else this.engine.push(word);
  }

  /** One occurrence of a flag, and the values after it. */
  private take(option: AnyOption, fresh: Found, inline: string | undefined): void {
    const seen = this.found.get(option) ?? fresh;
    this.found.set(option, seen);
    seen.count += 1;
    const { label, words } = seen;
    const { arity, mayBeEmpty } = option.kind;
    if (arity === 'none') {
      if (inline !== undefined) this.problems.push(`${label}: takes no value`);
      return;
    }
    const before = words.length;
    if (inline !== undefined) words.push(inline);
    const room = arity === 'many' ? Infinity : 1;
    while (isValue(this.words[this.at]) && words.length - before < room) {
      words.push(this.words[this.at++] ?? '');
    }
    if (words.length === before && !mayBeEmpty) {
      this.problems.push(`${label}: needs a value (write ${label}=VALUE if it starts with -)`);
    }
  }

  private given(isServe: boolean): readonly GivenValue[] {
    return [...this.found].flatMap(([option, { label, count, words, ...one }]) => {
      if (one.isServe !== isServe) return [];
      if (option.kind.arity === 'one' && count > 1) {
        this.warnings.push(`${label} is given ${count} times; the last value counts`);
      }
      // Without a value it is among the problems.
      return words.length === 0 && !option.kind.mayBeEmpty
        ? []
        : [{ option, label, raw: { form: 'words', words } } as const];
    });
  }
}

function isValue(word: string | undefined): boolean {
  return word?.startsWith('-') === false;
}

/** The option of the gateway that a `--router-` flag names; what cannot be is told. */
function gatewayOption(name: string, problems: string[]): AnyOption | undefined {
  const flag = name.slice(GATEWAY_PREFIX.length);
  const option = OPTIONS_BY_FLAG.get(flag);
  const owned = option === undefined ? undefined : OWNED.get(option.flag);
  if (owned !== undefined) problems.push(`--${name}: ${owned}`);
  else if (option !== undefined) return option;
  else {
    const near = nearest(
      flag,
      [...OPTIONS_BY_FLAG.keys()].filter((one) => !OWNED.has(one)),
    );
    const hint = near === undefined ? '' : `; did you mean --${GATEWAY_PREFIX}${near}?`;
    problems.push(`--${GATEWAY_PREFIX}${printable(flag)}: unknown flag${hint}`);
  }
  return undefined;
}

/** A flag that is none may be anything. */
function printable(flag: string): string {
  return /^[A-Za-z][\w-]{0,60}$/.test(flag) ? flag : '…';
}
