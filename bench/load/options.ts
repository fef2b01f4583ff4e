import { parseArgs } from 'node:util';

export const SUITES = ['json', 'sse', 'latency', 'policies', 'memory', 'startup'] as const;
export type SuiteName = (typeof SUITES)[number];

export const VARIANTS = ['direct', 'nginx', 'bare', 'gateway', 'gateway-rl'] as const;
/** The gateway under two policies, over several workers; the policies suite alone starts them. */
export const POLICY_VARIANTS = ['round-robin', 'cache-aware'] as const;
/** `direct` is the backend itself, without a proxy; `gateway-rl` the gateway with the RL control plane. */
export type ChosenVariant = (typeof VARIANTS)[number];
export type PolicyVariant = (typeof POLICY_VARIANTS)[number];
export type VariantName = ChosenVariant | PolicyVariant;

export interface Options {
  /** Length of one window. */
  readonly seconds: number;
  readonly rounds: number;
  readonly suites: readonly SuiteName[];
  readonly variants: readonly ChosenVariant[];
  /** Closed-loop connections. */
  readonly connections: number;
  /** Paced streams, and events per second on each. */
  readonly streams: number;
  readonly rate: number;
  /** Idle streams held in the memory suite. */
  readonly held: number;
  /** Seconds between the load and the second look at memory. */
  readonly settle: number;
  /** Keep clients and backend off the core of the process under test. */
  readonly pin: boolean;
  readonly smoke: boolean;
  readonly enforce: boolean;
  /** Files to write. */
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly help: boolean;
}

export const USAGE = `npm run bench:load -- [options]
  --seconds <n>        length of one window (2)
  --rounds <n>         windows per variant (7)
  --only <a,b>         suites: ${SUITES.join(', ')} (all)
  --variants <a,b>     ${VARIANTS.join(', ')} (all that are there)
  --connections <n>    closed-loop connections (64)
  --streams <n>        paced SSE streams (64), --rate <n> events per second on each (100)
  --held <n>           idle streams of the memory suite (2000)
  --settle <n>         seconds between load and the second look at memory (60)
  --no-pin             do not bind processes to cores
  --json <file>        write every measured value
  --markdown <file>    write the report; between its load:begin and load:end marks if it has them
  --smoke              a run under 20 s that checks that every variant serves without errors
  --enforce            exit 1 when a bar is missed
`;

const DECLARED = {
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  only: { type: 'string' },
  variants: { type: 'string' },
  connections: { type: 'string' },
  streams: { type: 'string' },
  rate: { type: 'string' },
  held: { type: 'string' },
  settle: { type: 'string' },
  'no-pin': { type: 'boolean' },
  json: { type: 'string' },
  markdown: { type: 'string' },
  smoke: { type: 'boolean' },
  enforce: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Reads the command line. @throws Error with a sentence for the user. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({ args: [...args], options: DECLARED, strict: true });
  const smoke = values.smoke === true;
  const number = (
    name: 'seconds' | 'rounds' | 'connections' | 'streams' | 'rate' | 'held' | 'settle',
    normal: number,
    short: number,
    [from, to]: readonly [number, number],
  ): number => {
    const text = values[name];
    if (text === undefined) return smoke ? short : normal;
    const value = Number(text);
    if (!(value >= from && value <= to)) {
      throw new Error(`--${name} must be a number from ${from} to ${to}, not '${text}'`);
    }
    return value;
  };
  return {
    seconds: number('seconds', 2, 0.5, [0.1, 60]),
    rounds: Math.floor(number('rounds', 7, 1, [1, 100])),
    suites: choices('only', values.only, SUITES),
    variants: choices('variants', values.variants, VARIANTS),
    connections: Math.floor(number('connections', 64, 8, [1, 1_000])),
    streams: Math.floor(number('streams', 64, 16, [1, 1_000])),
    rate: number('rate', 100, 50, [1, 1_000]),
    held: Math.floor(number('held', 2_000, 50, [1, 10_000])),
    settle: number('settle', 60, 0, [0, 600]),
    pin: values['no-pin'] !== true,
    smoke,
    enforce: values.enforce === true,
    json: values.json,
    markdown: values.markdown,
    help: values.help === true,
  };
}

function choices<T extends string>(
  name: string,
  text: string | undefined,
  all: readonly T[],
): readonly T[] {
  if (text === undefined) return all;
  const wanted = text.split(',').map((item) => item.trim());
  const unknown = wanted.filter((item) => !(all as readonly string[]).includes(item));
  if (unknown.length > 0) {
    throw new Error(`--${name}: unknown '${unknown.join(', ')}'; known: ${all.join(', ')}`);
  }
  return all.filter((item) => wanted.includes(item));
}
