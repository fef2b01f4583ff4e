import { parseArgs } from 'node:util';
import { chooseVariants, type Variant, VARIANTS } from './variants';
import { FLEETS, RATE, type Scenario, scenarioOf, SWEEP_RATES } from './scenario';

export interface Options {
  readonly seed: number;
  readonly scenarios: readonly Scenario[];
  readonly variants: readonly Variant[];
  /** One fleet under more and more requests. */
  readonly sweep: readonly Scenario[];
  /** Folder for results.json, results.csv and the plots. */
  readonly out: string | undefined;
  /** Page whose marks the tables go between. */
  readonly markdown: string | undefined;
  readonly smoke: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run bench:simulate -- [options]
  --workers <a,b>      sizes of fleets (${FLEETS.join(',')}), 2 to 4096 each
  --only <a,b>         policies and variants whose names contain one of these (all)
  --no-prefill         leave out the fleet of prefill workers
  --no-sweep           leave out the fleet under more and more requests
  --no-refit           leave the weights and caches of engines alone
  --rate <n>           requests per second and worker (${RATE})
  --seconds <n>        simulated seconds (by the size of the fleet)
  --seed <n>           of the trace and of the policies (1)
  --out <folder>       write results.json, results.csv and the plots
  --markdown <file>    put the tables between its simulate:begin and simulate:end marks
  --smoke              under 20 s: does every policy serve a small fleet, alike when asked twice?

policies and variants:
${VARIANTS.map(({ name, flags }) => `  ${name.padEnd(20)} ${flags}`.trimEnd()).join('\n')}
`;

/** Workers of the prefill fleet, and of the one under more and more requests. */
const PREFILL_WORKERS = 64;
const SWEEP_WORKERS = 64;

/** Reads the command line. @throws Error with a sentence for the user. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      workers: { type: 'string' },
      only: { type: 'string' },
      'no-prefill': { type: 'boolean' },
      'no-sweep': { type: 'boolean' },
      'no-refit': { type: 'boolean' },
      rate: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      out: { type: 'string' },
      markdown: { type: 'string' },
      smoke: { type: 'boolean' },
      help: { type: 'boolean' },
    },
    strict: true,
  });
  const smoke = values.smoke === true;
  const rate = number('rate', values.rate, [0.01, 100]) ?? RATE;
  const seconds = number('seconds', values.seconds, [20, 10_000]) ?? (smoke ? 40 : undefined);
  const sizes = smoke ? [8] : (listOf(values.workers)?.map(size) ?? FLEETS);
  const hasRefit = values['no-refit'] !== true;
  const base = { rate, seconds, hasRefit };
  const scenarios = sizes.map((workers) => scenarioOf({ ...base, workers, leg: 'regular' }));
  if (values['no-prefill'] !== true) {
    const workers = smoke ? 4 : PREFILL_WORKERS;
    scenarios.push(scenarioOf({ ...base, workers, leg: 'prefill' }));
  }
  return {
    seed: Math.floor(number('seed', values.seed, [0, 2 ** 31]) ?? 1),
    scenarios,
    sweep:
      smoke || values['no-sweep'] === true
        ? []
        : SWEEP_RATES.map((each) =>
            scenarioOf({ ...base, workers: SWEEP_WORKERS, leg: 'regular', rate: each }),
          ),
    variants: chooseVariants(listOf(values.only) ?? []),
    out: values.out,
    markdown: values.markdown,
    smoke,
    help: values.help === true,
  };
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((item) => item.trim());
}

function size(text: string): number {
  return Math.floor(number('workers', text, [2, 4_096]) ?? 0);
}

function number(
  name: string,
  text: string | undefined,
  [from, to]: readonly [number, number],
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && value >= from && value <= to) return value;
  throw new Error(`--${name} must be a number from ${from} to ${to}, not '${text}'`);
}
