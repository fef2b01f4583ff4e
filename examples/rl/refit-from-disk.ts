import { parseArgs } from 'node:util';
import { FanoutError, RL, paused, type FanoutResult } from 'smg-gateway/client';

// Puts a checkpoint on every SGLang engine that a selector names, all at once: pause, load, resume; then asks for one
// answer and checks that the new weights made it. Exit code 0 if they did, 1 if anything failed, 2 if the command line is
// wrong.

const USAGE = `usage: refit-from-disk --model-path PATH --weight-version V [options]

  --model-path PATH     checkpoint, as every engine sees it
  --weight-version V    its version; whole numbers that grow
  --smg URL             gateway [http://127.0.0.1:30000]
  --selector SELECTOR   which engines [engine=sglang]
  --api-key KEY         gateway's key [$SMG_API_KEY]
  --timeout SECONDS     of one step, above the gateway's --rl-control-timeout-secs [660]
`;

/** Command line. */
interface Flags {
  readonly smg: string;
  readonly modelPath: string;
  readonly weightVersion: string;
  readonly selector: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** @throws Error when the command line is wrong. */
function flagsOf(): Flags | 'help' {
  const { values } = parseArgs({
    options: {
      smg: { type: 'string', default: 'http://127.0.0.1:30000' },
      'model-path': { type: 'string' },
      'weight-version': { type: 'string' },
      selector: { type: 'string', default: 'engine=sglang' },
      'api-key': { type: 'string' },
      timeout: { type: 'string', default: '660' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const { 'model-path': modelPath, 'weight-version': weightVersion } = values;
  if (modelPath === undefined) throw new Error('--model-path is required');
  if (weightVersion === undefined) throw new Error('--weight-version is required');
  const timeoutMs = Number(values.timeout) * 1000;
  if (values.timeout.trim() === '' || Number.isNaN(timeoutMs)) {
    throw new Error('--timeout must be a number');
  }
  return {
    smg: values.smg,
    modelPath,
    weightVersion,
    selector: values.selector,
    apiKey: values['api-key'] ?? process.env['SMG_API_KEY'],
    timeoutMs,
  };
}

/** Aborts at Ctrl-C and its like: the waiting is over, the resume is still sent. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      controller.abort(new Error(`${signal}: given up`));
    });
  }
  return controller.signal;
}

/** Whoever waits, waits for the slowest engine. Engines are resumed whatever happens. */
async function refit(rl: RL, flags: Flags, signal: AbortSignal): Promise<void> {
  const { selector, modelPath, weightVersion } = flags;
  const run = async (pause: FanoutResult): Promise<void> => {
    say(`paused ${pause.succeeded} engines`);
    const body = { model_path: modelPath, weight_version: weightVersion, flush_cache: true };
    const report = await rl.fanout('update_weights_from_disk', body, { selector, signal });
    for (const { url, body: answer, latencyMs } of Object.values(report.results)) {
      const { success, message } = (answer ?? {}) as { success?: unknown; message?: unknown };
      // An engine can refuse with a 200.
      if (success === false) throw new Error(`${url} refused: ${String(message)}`);
      say(`${url}: version ${weightVersion}, loaded in ${latencyMs} ms`);
    }
  };
  await paused(rl, selector, run, { signal });
  say('resumed');
}

/** Asks for one answer and compares the version it is stamped with. */
async function probe(rl: RL, flags: Flags, signal: AbortSignal): Promise<void> {
  const { apiKey, weightVersion, timeoutMs } = flags;
  const response = await fetch(`${rl.baseUrl}/generate`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      // Engines outside the selector may have older weights; they are not asked.
      'x-smg-version-policy': `min-version:${weightVersion}`,
      ...(apiKey === undefined || apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ text: 'Hello!', sampling_params: { max_new_tokens: 4 } }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`/generate answered ${response.status} ${text.slice(0, 500)}`);
  const stamped = response.headers.get('x-smg-weight-version') ?? 'unknown';
  const engine = response.headers.get('x-smg-routed-worker-id') ?? 'an engine';
  if (stamped !== weightVersion) {
    throw new Error(
      `/generate was answered by ${engine} with version ${stamped}, not ${weightVersion}`,
    );
  }
  // What the engine itself says, if it does.
  const answer = JSON.parse(text) as { meta_info?: { weight_version?: unknown } } | null;
  const reported = answer?.meta_info?.weight_version;
  if (reported !== undefined && reported !== null && reported !== weightVersion) {
    throw new Error(`${engine} reports version ${JSON.stringify(reported)}, not ${weightVersion}`);
  }
  say(`${engine} answered with version ${stamped}`);
}

async function main(flags: Flags): Promise<void> {
  const { smg, apiKey, timeoutMs } = flags;
  const rl = new RL({ baseUrl: smg, apiKey, timeoutMs });
  const signal = interruption();
  await refit(rl, flags, signal);
  await probe(rl, flags, signal);
}

/** What went wrong, in a line or two. An error of several is told as them all. */
function told(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const lines =
    error instanceof FanoutError
      ? error.result.failed.map(({ url, error: code, message }) => `${url}: ${code}: ${message}`)
      : [error.message];
  return error.cause === undefined ? lines : [...lines, ...told(error.cause)];
}

let flags: Flags | 'help' | undefined;
try {
  flags = flagsOf();
} catch (error) {
  console.error(`${USAGE}\n${(error as Error).message}`);
  process.exitCode = 2;
}
if (flags === 'help') say(USAGE);
else if (flags !== undefined) {
  main(flags).catch((error: unknown) => {
    for (const line of told(error)) console.error(line);
    process.exitCode = 1;
  });
}
