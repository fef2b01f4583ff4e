import { Command, InvalidArgumentError } from 'commander';
import { Child } from './child';
import { Display, promisesOf, tableOf, versionsOf, type WorkerRow } from './display';
import { startFleet, type Fleet } from './fleet';
import { Stats } from './stats';
import { Traffic } from './traffic';
import { Trainer } from './trainer';

/** Length of a `--once` run when `--seconds` is not given. */
const ONCE_SECS = 20;
/** Milliseconds between looks at the workers. */
const REFRESH_MS = 500;

const whole =
  (min: number, max: number) =>
  (text: string): number => {
    if (!/^\d+$/.test(text) || Number(text) < min || Number(text) > max) {
      throw new InvalidArgumentError(`give a whole number from ${min} to ${max}.`);
    }
    return Number(text);
  };

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

function sayWhatToTry({ url, metricsUrl }: Fleet): void {
  say(`
Try it from another terminal:
  curl ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"mock-model","messages":[{"role":"user","content":"Hello!"}]}' -i
  curl -N ${url}/v1/completions -H 'content-type: application/json' \\
    -d '{"model":"mock-model","prompt":"Hello!","stream":true}'
  curl ${url}/v1/chat/completions -H 'content-type: application/json' -i \\
    -H 'x-smg-version-policy: min-version:2' -d '{"model":"mock-model","messages":[{"role":"user","content":"From version 2 on."}]}'
  curl ${url}/v1/rl/workers
  curl ${metricsUrl}
`);
}

/** What a run consists of. */
interface Run {
  readonly fleet: Fleet;
  readonly stats: Stats;
  readonly trainer: Trainer;
  readonly display: Display;
}

/** Refreshes the display until `seconds` are over or the demo is stopped. @throws Error when a child ends. */
async function watch(
  { fleet, stats, trainer, display }: Run,
  seconds: number,
  isStopped: () => boolean,
): Promise<void> {
  const since = performance.now();
  for (;;) {
    const elapsed = Math.floor((performance.now() - since) / 1000);
    const dead = fleet.children.find((child) => child.hasExited);
    if (isStopped()) return;
    if (dead !== undefined) throw new Error(`${dead.name} ended\n${dead.output}`);
    if (trainer.error !== undefined) throw trainer.error;
    display.show(await fleet.workers(), stats, elapsed, trainer.doing);
    if (elapsed >= seconds) return;
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}

/** @returns whether every promise of the demo was kept; says which were not. */
function judge({ fleet, stats, trainer }: Run, rows: readonly WorkerRow[]): boolean {
  const newest = String(trainer.newest);
  const faults = [
    ...(stats.served > 0 ? [] : ['nothing was served']),
    ...(stats.failed === 0 ? [] : ['requests failed']),
    ...(stats.stale === 0 ? [] : ['requests went to stale engines']),
    ...(stats.unstamped === 0 ? [] : ['answers carried no version']),
    ...(trainer.complete > 0 ? [] : ['no refit was completed']),
    ...rows
      .filter(({ version, control }) => version !== newest || control !== 'active')
      .map(({ url, version, control }) => `${url} is ${control} at version ${version ?? 'none'}`),
    ...[...fleet.engines.keys()]
      .filter((url) => !stats.workers.has(url))
      .map((url) => `${url} was never used`),
  ];
  say('\nSummary');
  for (const line of tableOf(rows, stats, fleet.engines)) say(`  ${line}`);
  say(`  ${versionsOf(stats)}`);
  say(`  ${promisesOf(stats)}`);
  for (const failure of stats.failures) say(`  for example: ${failure}`);
  for (const fault of faults) say(`  ${fault}`);
  say(
    faults.length === 0
      ? `${trainer.complete} rolling refits under traffic: every request succeeded, none was stale, every answer named its version.`
      : 'The run was not clean.',
  );
  return faults.length === 0;
}

async function demo(isStopped: () => boolean): Promise<number> {
  const options = new Command('demo')
    .description('Three mock engines, the gateway in front of them, traffic, and rolling refits.')
    .option('--once', 'run for a while, print a summary; exit 0 only if all went well')
    .option(
      '--seconds <n>',
      `end after so many seconds (--once alone: ${ONCE_SECS})`,
      whole(1, 86_400),
    )
    .option(
      '--port <n>',
      'port of the gateway; another is used when it is taken',
      whole(0, 65_535),
      0,
    )
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .parse()
    .opts<{ once?: true; seconds?: number; port: number }>();
  const seconds = options.seconds ?? (options.once === true ? ONCE_SECS : Infinity);

  const fleet = await startFleet(options.port, say);
  if (isStopped()) return 0;
  sayWhatToTry(fleet);
  const stats = new Stats();
  const display = new Display(process.stdout, fleet.engines);
  const trainer = new Trainer(fleet.url, await fleet.rolloutEngines(), (text) => {
    display.note(text);
  });
  const run = { fleet, stats, trainer, display };
  const traffic = new Traffic(fleet.url, stats, () => trainer.newest);
  try {
    await watch(run, seconds, isStopped);
  } finally {
    // On Ctrl-C the terminal has signalled the children too: nothing is left to wait for.
    if (!isStopped()) {
      await trainer.stop();
      await traffic.stop();
    }
  }
  if (isStopped()) return 0;
  if (trainer.error !== undefined) throw trainer.error;
  if (options.once !== true) return 0;
  // Asked again: everything has ended by now.
  return judge(run, await fleet.workers()) ? 0 : 1;
}

let stopping: Promise<void> | undefined;

/** Ends the children, then this process; the first caller's code counts. */
function finish(code: number): void {
  stopping ??= Child.stopAll().finally(() => process.exit(code));
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    if (stopping === undefined) say('\nStopping …');
    // An interrupted `--once` has proved nothing.
    finish(name === 'SIGINT' && !process.argv.includes('--once') ? 0 : 1);
  });
}
// Someone closed the pipe we print into.
process.stdout.on('error', () => {
  finish(1);
});
process.on('exit', () => {
  Child.killAllNow();
});

demo(() => stopping !== undefined).then(finish, (error: unknown) => {
  if (stopping === undefined) console.error(error instanceof Error ? error.message : String(error));
  finish(1);
});
