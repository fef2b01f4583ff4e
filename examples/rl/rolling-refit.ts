import { Command } from 'commander';
import { RL, type CallResult } from 'smg-gateway/client';

/** Command line. */
interface Flags {
  readonly smg: string;
  readonly modelPath: string;
  readonly weightVersion: string;
  readonly selector: string;
  readonly mode: string;
  readonly timeout: string;
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const messageOf = (body: unknown): string => {
  const { message } = (body ?? {}) as { message?: unknown };
  return typeof message === 'string' ? `: ${message}` : '';
};

/** One route of one engine. @throws Error unless the engine did it. */
async function did(rl: RL, engine: CallResult, path: string, body: object): Promise<CallResult> {
  const result = await rl.call(engine.workerId, path, body);
  const { success } = (result.body ?? {}) as { success?: unknown };
  // An engine can refuse with a 200.
  if (result.status !== 200 || success === false) {
    throw new Error(
      `${engine.url}: ${path} was refused (${result.status})${messageOf(result.body)}`,
    );
  }
  return result;
}

/** Pause, load, resume. An engine whose load failed stays paused: what it has in memory is unknown. */
async function refit(rl: RL, engine: CallResult, flags: Flags): Promise<void> {
  await did(rl, engine, 'pause_generation', { mode: flags.mode });
  const loaded = await did(rl, engine, 'update_weights_from_disk', {
    model_path: flags.modelPath,
    weight_version: flags.weightVersion,
  });
  await did(rl, engine, 'continue_generation', {});
  say(`${engine.url}: version ${flags.weightVersion}, loaded in ${loaded.latencyMs} ms`);
}

/** Asks for one answer of the new weights. @throws Error when it is not. */
async function probe(smg: string, weightVersion: string): Promise<void> {
  const key = process.env['SMG_API_KEY'];
  const response = await fetch(`${smg}/generate`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-smg-version-policy': `min-version:${weightVersion}`,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ text: 'Hello!', sampling_params: { max_new_tokens: 4 } }),
    signal: AbortSignal.timeout(60_000),
  });
  await response.arrayBuffer();
  const version = response.headers.get('x-smg-weight-version');
  if (response.status !== 200) throw new Error(`/generate answered ${response.status}`);
  if (version !== weightVersion) {
    throw new Error(`/generate was answered by version ${version ?? 'unknown'}`);
  }
  say(`${response.headers.get('x-smg-routed-worker-id') ?? ''} answered with version ${version}`);
}

async function main(): Promise<void> {
  const flags = new Command('rolling-refit')
    .description('Puts a checkpoint on SGLang engines, one after the other. Key: SMG_API_KEY.')
    .requiredOption('--model-path <path>', 'checkpoint, as every engine sees it')
    .requiredOption('--weight-version <version>', 'its version; whole numbers that grow')
    .option('--smg <url>', 'gateway', 'http://127.0.0.1:30000')
    .option('--selector <selector>', 'which engines', 'engine=sglang')
    .option('--mode <mode>', 'pause: abort, retract or in_place', 'retract')
    .option('--timeout <seconds>', 'of one call, above that of the gateway', '660')
    .parse()
    .opts<Flags>();
  const rl = new RL({
    baseUrl: flags.smg,
    apiKey: process.env['SMG_API_KEY'],
    timeoutMs: Number(flags.timeout) * 1000,
  });
  // Nothing is paused unless all of them answer.
  const healthy = await rl.fanout('health', undefined, { selector: flags.selector, method: 'GET' });
  for (const engine of Object.values(healthy.results)) await refit(rl, engine, flags);
  await probe(rl.baseUrl, flags.weightVersion);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
