import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { judge, type Verdict } from './bars';
import { Notebook } from './measure';
import { type Options, parseOptions, USAGE, type VariantName } from './options';
import { canReadProc } from './proc';
import { place, placeBetweenMarks, render } from './report';
import {
  type Bench,
  jsonSuite,
  latencySuite,
  memorySuite,
  policiesSuite,
  sseSuite,
  startupSuite,
} from './suites';
import { findNginx, isRunning, type Running, type StartContext, startVariant } from './variants';
import { Workshop } from './workshop';

/** Progress goes to stderr, the report to stdout. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A signal or the watchdog ends the process; what fails because of it is no news. */
let stopping = false;

/** A bench that hangs is ended after this: generous, but finite. Milliseconds. */
function budget(options: Options): number {
  const windows = options.rounds * (options.variants.length * 3 + 2) + options.variants.length;
  return 300_000 + options.settle * 1_000 + windows * (options.seconds * 1_000 + 3_000) * 2;
}

async function measure(options: Options, workshop: Workshop): Promise<Notebook> {
  const notebook = new Notebook();
  if (!canReadProc) {
    notebook.remark(
      `CPU time and memory cannot be read on ${process.platform}; only throughput, latency and start are measured`,
    );
  }
  const context: StartContext = {
    workshop,
    backendPort: await workshop.listen(),
    morePorts: options.suites.includes('policies') ? await workshop.listenMore(3) : [],
    apiKey: `bench-${randomBytes(12).toString('hex')}`,
    collectable: false,
  };
  const bench: Bench = { options, context, notebook, say };
  const running = await startAll(options, context, notebook);
  // Memory and start are the gateway's whether or not RL is on.
  const present: VariantName[] = running
    .map(({ name }) => name)
    .filter((one) => one !== 'direct' && one !== 'gateway-rl');
  for (const { target } of running) workshop.pinUnderTest(target.pids);
  if (options.pin && !workshop.isPinning) notebook.remark('processes are not bound to cores');
  if (options.suites.includes('json')) await jsonSuite(bench, running);
  if (options.suites.includes('sse')) await sseSuite(bench, running);
  if (options.suites.includes('latency')) await latencySuite(bench, running);
  for (const { held } of running) if (held !== undefined) await workshop.stop(held);
  if (options.suites.includes('policies')) await policiesSuite(bench);
  if (options.suites.includes('memory') && canReadProc) await memorySuite(bench, present);
  if (options.suites.includes('startup')) await startupSuite(bench, present);
  return notebook;
}

async function startAll(
  options: Options,
  context: StartContext,
  notebook: Notebook,
): Promise<Running[]> {
  const running: Running[] = [];
  // That suite has variants of its own.
  const isAlone = options.suites.every((suite) => suite === 'policies');
  for (const name of isAlone ? [] : options.variants) {
    const variant = await startVariant(name, context);
    if (isRunning(variant)) {
      running.push(variant);
      continue;
    }
    const [reason = ''] = variant.reason.split('\n');
    say(`skipping ${name}: ${reason}`);
    notebook.remark(`${name} is not measured: ${reason}`);
    if (variant.failed) notebook.fail(`${name} did not start: ${variant.reason}`);
  }
  return running;
}

function publish(options: Options, notebook: Notebook, verdicts: readonly Verdict[]): void {
  const where = place(findNginx());
  const report = render(where, options, notebook, verdicts);
  if (options.smoke) {
    const served = new Set(notebook.measures.map(({ variant }) => variant));
    const verdict = notebook.failures.length === 0 ? 'without errors' : 'WITH ERRORS';
    console.log(`bench smoke: ${[...served].join(', ')} served ${verdict}`);
  } else {
    console.log(report);
  }
  if (options.markdown !== undefined) {
    const path = options.markdown;
    const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
    writeFileSync(path, placeBetweenMarks(before, report));
  }
  if (options.json !== undefined) {
    const { measures, failures, remarks } = notebook;
    const bars = verdicts.map(({ bar, value, word }) => ({ ...bar, value, verdict: word }));
    const result = { place: where, options, measures, bars, failures, remarks };
    writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  }
  for (const failure of notebook.failures) say(`FAILED ${failure}`);
}

/** Exit code of a finished run. */
function codeOf(options: Options, notebook: Notebook, verdicts: readonly Verdict[]): number {
  if (notebook.failures.length > 0) return 1;
  if (!options.enforce) return 0;
  // A bar that could not be measured was not met; without nginx or /proc, do not enforce.
  return verdicts.every(({ word }) => word === 'pass') ? 0 : 1;
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const workshop = new Workshop(options.pin);
  process.on('exit', () => workshop.abandon());
  const stop = (code: number, why: string): void => {
    stopping = true;
    say(why);
    void workshop.close().finally(() => process.exit(code));
  };
  process.once('SIGINT', () => stop(130, 'interrupted'));
  process.once('SIGTERM', () => stop(143, 'terminated'));
  process.once('SIGHUP', () => stop(129, 'the terminal is gone'));
  const watchdog = setTimeout(() => stop(1, 'the bench hangs; giving up'), budget(options));
  try {
    const notebook = await measure(options, workshop);
    const verdicts = judge(notebook, options.suites);
    publish(options, notebook, verdicts);
    return codeOf(options, notebook, verdicts);
  } finally {
    clearTimeout(watchdog);
    await workshop.close();
  }
}

main().then(
  (code) => {
    if (!stopping) process.exit(code);
  },
  (error: unknown) => {
    if (stopping) return;
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
