import { Command, InvalidArgumentError } from 'commander';
import { Child } from './child';
import { Display, lineOf, tableOf, type WorkerRow } from './display';
import { startFleet, type Fleet } from './fleet';
import { Stats } from './stats';
import { Traffic } from './traffic';

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
  curl ${url}/workers
  curl ${metricsUrl}
`);
}

/** Refreshes the display until `seconds` are over or the demo is stopped. @throws Error when a child ends. */
async function watch(
  fleet: Fleet,
  stats: Stats,
  seconds: number,
  isStopped: () => boolean,
): Promise<void> {
  const display = new Display(process.stdout, fleet.engines);
  const since = performance.now();
  for (;;) {
    const elapsed = Math.floor((performance.now() - since) / 1000);
    const dead = fleet.children.find((child) => child.hasExited);
    if (isStopped()) return;
    if (dead !== undefined) throw new Error(`${dead.name} ended\n${dead.output}`);
    display.show(await fleet.workers(), stats, elapsed);
    if (elapsed >= seconds) return;
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}

/** @returns whether every request succeeded and every engine was used. */
function judge(fleet: Fleet, rows: readonly WorkerRow[], stats: Stats, seconds: number): boolean {
  const unused = [...fleet.engines.keys()].filter((url) => !stats.workers.has(url));
  const isGood = stats.served > 0 && stats.failed === 0 && unused.length === 0;
  say('\nSummary');
  for (const line of tableOf(rows, stats, fleet.engines)) say(`  ${line}`);
  say(`  ${lineOf(rows, stats, seconds).trim()}`);
  for (const failure of stats.failures) say(`  failed: ${failure}`);
  for (const url of unused) say(`  never used: ${url}`);
  say(isGood ? 'Every request succeeded and every engine was used.' : 'The run was not clean.');
  return isGood;
}

async function demo(isStopped: () => boolean): Promise<number> {
  const options = new Command('demo')
    .description('Three mock engines, the gateway in front of them, and traffic.')
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
  const traffic = new Traffic(fleet.url, stats);
  const since = performance.now();
  try {
    await watch(fleet, stats, seconds, isStopped);
  } finally {
    // On Ctrl-C the terminal has signalled the children too: nothing is left to wait for.
    if (!isStopped()) await traffic.stop();
  }
  if (isStopped()) return 0;
  if (options.once !== true) return 0;
  // Asked again: everything has ended by now.
  const rows = await fleet.workers();
  return judge(fleet, rows, stats, Math.round((performance.now() - since) / 1000)) ? 0 : 1;
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
