import { readArgv } from './argv';
import { buildConfig } from './core/build-config';
import { ConfigError } from './core/config-error';
import { readConfigFile, type ConfigFileReading } from './core/config-file';
import { type GatewayConfig } from './core/gateway-config';
import { type GivenValue } from './core/given-value';
import { OPTION_TABLE } from './core/option-table';
import { printConfig } from './core/print-config';
import { renderHelp } from './core/render-help';
import { show } from './core/show';

/** What the parser may see of the outside. */
export interface CommandLineIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of a file, as UTF-8. @throws whatever the file system throws. */
  readFile(path: string): string;
}

export interface ProgramVersions {
  /** Text of `--version`. */
  readonly short: string;
  /** Text of `--version-verbose`. */
  readonly verbose: string;
}

/** What the program is to do. Texts end without a newline. */
export type CommandLine =
  | {
      readonly kind: 'run';
      readonly config: GatewayConfig;
      /** One line each; for the log. */
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'print';
      /** For stdout. */
      readonly text: string;
      readonly exitCode: 0;
      /** One line each; for stderr. */
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'error';
      /** For stderr: one line per problem, each starting with `error: `. */
      readonly text: string;
      readonly exitCode: 2;
    };

/** Reads the arguments after `node script`: `launch`, `start`, or flags alone. Pure but for `io`. */
export function parseCommandLine(
  argv: readonly string[],
  io: CommandLineIo,
  versions: ProgramVersions,
): CommandLine {
  const answer = answerAtOnce(argv, versions, renderHelp);
  if (answer !== undefined) return print(answer);

  const flags = readArgv(argv);
  const file = readFileOf(flags.given, io);
  const problems = [...flags.problems, ...file.problems];
  const given = [...file.given, ...readEnvironment(io.env), ...flags.given];
  try {
    const { config, warnings } = buildConfig(given);
    if (problems.length > 0) return refuse(problems);
    return decide(flags.given, config, [...flags.warnings, ...warnings]);
  } catch (error) {
    if (error instanceof ConfigError) return refuse([...problems, ...error.problems]);
    throw error;
  }
}

/** Help and versions are answered before anything is checked; what stands behind `--` is not ours. */
export function answerAtOnce(
  argv: readonly string[],
  versions: ProgramVersions,
  help: () => string,
): string | undefined {
  const end = argv.indexOf('--');
  const words = new Set(end < 0 ? argv : argv.slice(0, end));
  if (words.has('--version-verbose')) return versions.verbose;
  if (words.has('--version') || words.has('-V')) return versions.short;
  return words.has('--help') || words.has('-h') ? help() : undefined;
}

function decide(
  flags: readonly GivenValue[],
  config: GatewayConfig,
  warnings: readonly string[],
): CommandLine {
  const given = (flag: string) => flags.some(({ option }) => option.flag === flag);
  if (given('print-config')) return print(printConfig(config), warnings);
  if (given('check-config')) return print('configuration is valid', warnings);
  return { kind: 'run', config, warnings };
}

export function readFileOf(flags: readonly GivenValue[], io: CommandLineIo): ConfigFileReading {
  const raw = flags.find(({ option }) => option.flag === 'config')?.raw;
  const path = raw?.form === 'words' ? raw.words.at(-1) : undefined;
  // An empty path is refused where every value is read.
  if (path === undefined || path === '') return { given: [], problems: [] };
  let text: string;
  try {
    text = io.readFile(path);
  } catch (error) {
    return { given: [], problems: [`--config: cannot read ${show(path)}${reason(error)}`] };
  }
  return readConfigFile(path, text);
}

/** The system's code, such as ENOENT; a message would repeat paths or more. */
function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}

/** Only the variables the table names: a catch-all prefix would read what Kubernetes injects. */
export function readEnvironment(env: CommandLineIo['env']): readonly GivenValue[] {
  const given: GivenValue[] = [];
  for (const option of OPTION_TABLE) {
    const word = option.env === undefined ? undefined : env[option.env];
    if (option.env === undefined || word === undefined || word === '') continue;
    const label = `--${option.flag} (${option.env})`;
    // Where several values may stand, a variable holds one per line.
    const words = option.kind.arity === 'many' ? word.split(/\r?\n/).filter(Boolean) : [word];
    given.push({ option, label, raw: { form: 'words', words } });
  }
  return given;
}

export function print(
  text: string,
  warnings: readonly string[] = [],
): Extract<CommandLine, { kind: 'print' }> {
  return { kind: 'print', text, exitCode: 0, warnings };
}

export function refuse(problems: readonly string[]): Extract<CommandLine, { kind: 'error' }> {
  const text = problems.map((problem) => `error: ${problem}`).join('\n');
  return { kind: 'error', text, exitCode: 2 };
}
