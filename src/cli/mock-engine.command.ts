import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { MockEngine, type EngineKind, type MockEngineOptions } from '@smg/testing';

const numberIn =
  (min: number, max: number, isWhole: boolean) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= min && value <= max)) {
      throw new InvalidArgumentError(`give a number from ${min} to ${max}.`);
    }
    if (isWhole && !Number.isInteger(value)) throw new InvalidArgumentError('give a whole number.');
    return value;
  };

const whole = (min: number, max: number): ((text: string) => number) => numberIn(min, max, true);

/** What a command line that cannot be understood ends with, as with `smg launch`. */
const USAGE = 2;

/** A day: longer delays are a slip of the keyboard. */
const MAX_DELAY_MS = 86_400_000;

function addLabel(text: string, sofar: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('give <name>=<value>.');
  return { ...sofar, [text.slice(0, at)]: text.slice(at + 1) };
}

function mockEngineCommand(): Command {
  return new Command('mock-engine')
    .description('Runs an engine without a model, for trying the gateway out and for tests.')
    .addOption(
      new Option('--kind <kind>', 'protocol spoken').choices(['sglang', 'vllm']).default('sglang'),
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 takes a free one', whole(0, 65_535), 0)
    .option('--model <path>', 'model path reported', 'mock-model')
    .option('--served-model-name <name>', 'name in /v1/models (default: the model path)')
    .option('--latency <ms>', 'wait before the first token', whole(0, MAX_DELAY_MS), 0)
    .option('--token-latency <ms>', 'wait between tokens', whole(0, MAX_DELAY_MS), 0)
    .option('--tokens <n>', 'tokens of an answer', whole(0, 1_000_000), 8)
    .option('--weight-version <version>', 'version until the first refit', 'default')
    .option('--dp-size <n>', 'data-parallel ranks', whole(1, 1_024), 1)
    .option('--fail-rate <share>', '0..1: share of inference that fails', numberIn(0, 1, false), 0)
    .option('--fail-status <status>', 'status of those failures', whole(400, 599), 500)
    .option('--api-key <key>', 'bearer key required on everything but /health')
    .option(
      '--label <name=value>',
      'further member of /server_info; may be repeated',
      addLabel,
      {},
    );
}

/** As commander hands them over. */
interface Flags {
  readonly kind: EngineKind;
  readonly host: string;
  readonly port: number;
  readonly model: string;
  readonly servedModelName?: string;
  readonly latency: number;
  readonly tokenLatency: number;
  readonly tokens: number;
  readonly weightVersion: string;
  readonly dpSize: number;
  readonly failRate: number;
  readonly failStatus: number;
  readonly apiKey?: string;
  readonly label: Readonly<Record<string, string>>;
}

function optionsOf(flags: Flags): MockEngineOptions {
  const { label, latency, tokenLatency, ...same } = flags;
  return {
    ...same,
    labels: label,
    latencyMs: latency,
    tokenLatencyMs: tokenLatency,
    // Nobody looks at the log of an engine that is a process of its own.
    keepRequests: 0,
  };
}

/**
 * `smg mock-engine`. Prints one JSON line once it listens:
 * `{"event":"listening","url":"http://127.0.0.1:31001","kind":"sglang","model":"mock-model"}`.
 *
 * @param argv arguments after `mock-engine`.
 * @throws CommanderError on a bad flag (its text is already on stderr) and after `--help`, whose
 *   `exitCode` is 0; Error when the address cannot be listened on.
 */
export async function runMockEngine(argv: readonly string[]): Promise<{ stop(): Promise<void> }> {
  const command = mockEngineCommand().name('smg mock-engine').exitOverride();
  command.parse([...argv], { from: 'user' });
  const engine = new MockEngine(optionsOf(command.opts<Flags>()));
  await engine.start().catch((cause: unknown) => {
    const { host, port } = engine.options;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot listen on --host ${host} --port ${port}: ${why}`, { cause });
  });
  const { kind, servedModelName } = engine.options;
  const line = { event: 'listening', url: engine.url, kind, model: servedModelName };
  console.log(JSON.stringify(line));
  return { stop: () => engine.stop() };
}

/**
 * `smg mock-engine` as a program: stays until SIGINT or SIGTERM, then closes every connection.
 * @returns an exit code when there is nothing to stay for, otherwise undefined.
 */
export async function mockEngine(argv: readonly string[]): Promise<number | undefined> {
  try {
    const engine = await runMockEngine(argv);
    const stop = (): void => {
      void engine.stop();
    };
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    return undefined;
  } catch (error) {
    // Commander has printed its text already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    throw error;
  }
}
