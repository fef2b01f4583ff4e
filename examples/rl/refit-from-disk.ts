import { Command } from 'commander';
import { ControlPlane, type Outcome } from './control-plane';

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

/** Pause, load, resume. An engine whose load failed stays paused: what it has in memory is unknown. */
async function refit(plane: ControlPlane, engine: Outcome, flags: Flags): Promise<void> {
  await plane.call(engine, 'pause_generation', { mode: flags.mode });
  const loaded = await plane.call(engine, 'update_weights_from_disk', {
    model_path: flags.modelPath,
    weight_version: flags.weightVersion,
  });
  await plane.call(engine, 'continue_generation', {});
  say(`${engine.url}: version ${flags.weightVersion}, loaded in ${loaded.latency_ms} ms`);
}

/** Asks for one answer of the new weights. @throws Error when it is not. */
async function probe({ smg, weightVersion }: Flags): Promise<void> {
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
  const flags = new Command('refit-from-disk')
    .description('Puts a checkpoint on SGLang engines, one after the other. Key: SMG_API_KEY.')
    .requiredOption('--model-path <path>', 'checkpoint, as every engine sees it')
    .requiredOption('--weight-version <version>', 'its version; whole numbers that grow')
    .option('--smg <url>', 'gateway', 'http://127.0.0.1:30000')
    .option('--selector <selector>', 'which engines', 'engine=sglang')
    .option('--mode <mode>', 'pause: abort, retract or in_place', 'retract')
    .option('--timeout <seconds>', 'of one call, above that of the gateway', '660')
    .parse()
    .opts<Flags>();
  const timeoutMs = Number(flags.timeout) * 1000;
  if (!(timeoutMs > 0)) throw new Error('--timeout must be a positive number');
  const plane = new ControlPlane(flags.smg, process.env['SMG_API_KEY'], timeoutMs);
  for (const engine of await plane.healthy(flags.selector)) await refit(plane, engine, flags);
  await probe(flags);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
