import { buildConfig } from './core/build-config';
import { ConfigError } from './core/config-error';
import { type GatewayConfig } from './core/gateway-config';
import { type GivenValue } from './core/given-value';
import { OPTIONS_BY_FLAG } from './core/option-table';
import { argFallback } from './core/serve/arg-fallback';
import { renderServeHelp } from './core/serve/render-serve-help';
import { readServeSettings } from './core/serve/serve-settings';
import { type ServeSettings } from './core/serve/serve.options';
import { GATEWAY_PREFIX, splitServeArgv } from './core/serve/split-serve-argv';
import { printConfig } from './core/print-config';
import {
  answerAtOnce,
  type CommandLine,
  type CommandLineIo,
  type ProgramVersions,
  print,
  readEnvironment,
  readFileOf,
  refuse,
} from './parse-command-line';

/** What `smg serve` is to do. */
export type ServeLine =
  | {
      readonly kind: 'run';
      readonly serve: ServeSettings;
      /** Arguments of each engine, as they were written. May hold secrets: not for a log. */
      readonly engineArgs: readonly string[];
      /** Of the gateway; `workers.urls` holds what the engines have if every port is free. */
      readonly config: GatewayConfig;
      readonly warnings: readonly string[];
    }
  | Exclude<CommandLine, { kind: 'run' }>;

/** Set when there is one engine: there is nobody else to choose, to try or to wait for. */
const FORCED: readonly (readonly [flag: string, value: unknown])[] = [
  ['policy', 'passthrough'],
  ['disable-retries', true],
  ['disable-circuit-breaker', true],
];

/** Reads the arguments after `serve`. Pure but for `io`. */
export function parseServeLine(
  argv: readonly string[],
  io: CommandLineIo,
  versions: ProgramVersions,
): ServeLine {
  const answer = answerAtOnce(argv, versions, renderServeHelp);
  if (answer !== undefined) return print(answer);

  const split = splitServeArgv(argv);
  const reading = readServeSettings(split.serve, io.env);
  const { settings } = reading;
  const file = readFileOf(split.gateway, io);
  const given = new Set(split.gateway.map(({ option }) => option));
  const problems = [...split.problems, ...reading.problems, ...file.problems];
  try {
    const built = buildConfig([
      ...(settings.argFallbackDisabled ? [] : argFallback(split.engine, given)),
      ...file.given,
      ...readEnvironment(io.env),
      ...split.gateway,
      ...ownValues(settings),
    ]);
    if (problems.length > 0) return refuse(problems);
    const warnings = [
      ...split.warnings,
      ...reading.warnings,
      ...forcedWarnings(settings, split.gateway),
      ...built.warnings,
    ];
    const { config } = built;
    const wants = (flag: string): boolean => split.gateway.some((one) => one.option.flag === flag);
    if (wants('print-config')) return print(printConfig(config), warnings);
    if (wants('check-config')) return print('configuration is valid', warnings);
    return { kind: 'run', serve: settings, engineArgs: split.engine, config, warnings };
  } catch (error) {
    if (error instanceof ConfigError) return refuse([...problems, ...error.problems]);
    throw error;
  }
}

/** What the gateway is told whatever else it is told; the last value of an option counts. */
function ownValues(settings: ServeSettings): readonly GivenValue[] {
  const { host, port, engines, workerHost, workerBasePort } = settings;
  // Stand-ins of the right number, for the rules that count workers.
  const urls = Array.from({ length: engines }, (_, index) =>
    workerUrlOf(workerHost, Math.min(workerBasePort + index, 65_535)),
  );
  const values: (readonly [flag: string, value: unknown])[] = [
    ['host', host],
    ['port', port],
    ['worker-urls', urls],
    ...(engines > 1 ? [] : FORCED),
  ];
  return values.flatMap(([flag, value]) => {
    const option = OPTIONS_BY_FLAG.get(flag);
    return option === undefined
      ? []
      : [{ option, label: `--${flag}`, raw: { form: 'json', value } } as const];
  });
}

function forcedWarnings(settings: ServeSettings, given: readonly GivenValue[]): readonly string[] {
  if (settings.engines > 1) return [];
  return given
    .map(({ option }) => option.flag)
    .filter((flag) => flag === 'policy' || /^(retry|cb)-/.test(flag))
    .map((flag) => `--${GATEWAY_PREFIX}${flag} has no effect with --data-parallel-size 1`);
}

/** Address under which the gateway reaches an engine bound to `host`. */
export function workerUrlOf(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
