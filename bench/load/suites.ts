import { randomInt } from 'node:crypto';
import { nowMicros, sleep } from './clock';
import { type Notebook } from './measure';
import { type ClosedLoopRun, type HoldResult, type WindowResult } from './messages';
import { type Options, POLICY_VARIANTS, type SuiteName, type VariantName } from './options';
import { groupMembers, openFilesLimit, residentKiB } from './proc';
import { median, shuffled } from './statistics';
import { isRunning, type Running, type StartContext, startVariant } from './variants';

/** What a suite works with. */
export interface Bench {
  readonly options: Options;
  readonly context: StartContext;
  readonly notebook: Notebook;
  readonly say: (line: string) => void;
}

const WARMUP_MS = 400;
/** A process of its own has compiled nothing yet. */
const FIRST_WARMUP_MS = 3_000;
/** Time proxies get to close the backend's streams after their clients left. */
const LEAVE_MS = 2_000;
/** What nginx adds at p99 on a quiet machine is a tenth of this. */
const DISTURBED_MS = 1;
const KIB_PER_MIB = 1024;

function windowTimeout(options: Options): number {
  return options.seconds * 1_000 + 60_000;
}

/** Runs `each` for every variant in every round, in an order that changes from round to round. */
async function inRounds(
  bench: Bench,
  suite: SuiteName,
  running: readonly Running[],
  each: (variant: Running, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < bench.options.rounds; round += 1) {
    bench.say(`${suite}: round ${round + 1} of ${bench.options.rounds}`);
    for (const variant of shuffled(running, () => randomInt(1_000_000) / 1_000_000)) {
      await each(variant, round);
      if (variant.held !== undefined) bench.context.workshop.trimLog(variant.held);
    }
  }
}

function complain(bench: Bench, suite: SuiteName, name: VariantName, result: WindowResult): void {
  if (result.errors === 0) return;
  bench.notebook.fail(`${suite}/${name}: ${result.errors} failed: ${result.reasons.join('; ')}`);
}

/** CPU per request and throughput of buffered JSON answers, closed loop. */
export async function jsonSuite(bench: Bench, running: readonly Running[]): Promise<void> {
  const { options, context, notebook } = bench;
  await inRounds(bench, 'json', running, async ({ name, target }) => {
    const run = {
      target,
      connections: options.connections,
      warmupMs: WARMUP_MS,
      windowMs: options.seconds * 1_000,
    };
    const result = await context.workshop.generator.ask<WindowResult>(
      'closedLoop',
      run,
      windowTimeout(options),
    );
    complain(bench, 'json', name, result);
    notebook.note('json', name, 'cpuPerRequest', result.cpuMicrosEach);
    notebook.note('json', name, 'requestsPerSecond', result.count / result.seconds);
    notebook.note('json', name, 'p50', result.latency.p50);
    notebook.note('json', name, 'p99', result.latency.p99);
  });
}

/** CPU per event and delay of paced streams; also that no stream outlives its client. */
export async function sseSuite(bench: Bench, running: readonly Running[]): Promise<void> {
  const { options, context, notebook } = bench;
  await context.workshop.pace({ eventsPerSecond: options.rate });
  await inRounds(bench, 'sse', running, async ({ name, target }) => {
    const run = {
      target,
      streams: options.streams,
      warmupMs: WARMUP_MS,
      windowMs: options.seconds * 1_000,
    };
    const result = await context.workshop.generator.ask<WindowResult>(
      'pacedStreams',
      run,
      windowTimeout(options),
    );
    complain(bench, 'sse', name, result);
    notebook.note('sse', name, 'cpuPerEvent', result.cpuMicrosEach);
    notebook.note('sse', name, 'eventsPerSecond', result.count / result.seconds);
    notebook.note('sse', name, 'p50', result.latency.p50);
    notebook.note('sse', name, 'p99', result.latency.p99);
    await expectNoStreams(bench, 'sse', name);
  });
}

async function expectNoStreams(bench: Bench, suite: SuiteName, name: VariantName): Promise<void> {
  const deadline = Date.now() + LEAVE_MS;
  let open = await bench.context.workshop.openStreams();
  while (open > 0 && Date.now() < deadline) {
    await sleep(10);
    open = await bench.context.workshop.openStreams();
  }
  if (open > 0) {
    bench.notebook.fail(
      `${suite}/${name}: ${open} streams still open at the backend ${LEAVE_MS} ms after the clients left`,
    );
  }
}

/** Latency of one connection, and what each variant adds to the direct way in the same round. */
export async function latencySuite(bench: Bench, running: readonly Running[]): Promise<void> {
  const { options, context, notebook } = bench;
  await inRounds(bench, 'latency', running, async ({ name, target }) => {
    const run = { target, connections: 1, warmupMs: WARMUP_MS, windowMs: options.seconds * 1_000 };
    const result = await context.workshop.generator.ask<WindowResult>(
      'closedLoop',
      run,
      windowTimeout(options),
    );
    complain(bench, 'latency', name, result);
    notebook.note('latency', name, 'p50', result.latency.p50);
    notebook.note('latency', name, 'p99', result.latency.p99);
    notebook.note('latency', name, 'slowest', result.latency.p999);
  });
  const direct = running.find(({ name }) => name === 'direct');
  if (direct === undefined) {
    notebook.remark('latency: without the direct variant there is no added latency');
    return;
  }
  for (const { name } of running) {
    if (name === 'direct') continue;
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [from, to] of [
        ['p50', 'addedP50'],
        ['p99', 'addedP99'],
      ] as const) {
        const own = notebook.values('latency', name, from)[round] ?? Number.NaN;
        const base = notebook.values('latency', 'direct', from)[round] ?? Number.NaN;
        notebook.note('latency', name, to, own - base);
      }
    }
  }
  const yardstick = median(notebook.values('latency', 'nginx', 'addedP99'));
  if (yardstick > DISTURBED_MS) {
    notebook.remark(
      `latency: nginx itself adds ${yardstick.toFixed(2)} ms at p99; the machine was disturbed, p99 says little`,
    );
  }
}

/**
 * What a policy that reads prompts costs beside one that does not: the same gateway, workers and
 * prompts, all of them new, so that a prefix tree has something to learn from every one.
 */
export async function policiesSuite(bench: Bench): Promise<void> {
  const { options, context, notebook } = bench;
  const running: Running[] = [];
  for (const name of POLICY_VARIANTS) {
    const variant = await startVariant(name, context);
    if (!isRunning(variant)) {
      notebook.remark(`policies: ${name} is not measured: ${variant.reason}`);
      if (variant.failed) notebook.fail(`policies/${name}: ${variant.reason}`);
      continue;
    }
    running.push(variant);
    context.workshop.pinUnderTest(variant.target.pids);
  }
  await inRounds(bench, 'policies', running, async ({ name, target }, round) => {
    const run: ClosedLoopRun = {
      target,
      connections: options.connections,
      warmupMs: round === 0 ? FIRST_WARMUP_MS : WARMUP_MS,
      windowMs: options.seconds * 1_000,
      freshPrompts: true,
    };
    const { generator } = context.workshop;
    const timeout = windowTimeout(options);
    const result = await generator.ask<WindowResult>('closedLoop', run, timeout);
    complain(bench, 'policies', name, result);
    notebook.note('policies', name, 'cpuPerRequest', result.cpuMicrosEach);
    notebook.note('policies', name, 'requestsPerSecond', result.count / result.seconds);
    notebook.note('policies', name, 'p50', result.latency.p50);
    notebook.note('policies', name, 'p99', result.latency.p99);
  });
  for (const { held } of running) if (held !== undefined) await context.workshop.stop(held);
}

/** From spawn to the first good answer, in fresh processes. */
export async function startupSuite(bench: Bench, names: readonly VariantName[]): Promise<void> {
  const { options, context, notebook } = bench;
  for (let round = 0; round < Math.min(options.rounds, 5); round += 1) {
    bench.say(`startup: round ${round + 1}`);
    for (const name of names) {
      const variant = await startVariant(name, context);
      if (!isRunning(variant)) {
        notebook.fail(`startup/${name}: ${variant.reason}`);
        continue;
      }
      notebook.note('startup', name, 'firstAnswerMs', variant.startMs);
      if (variant.held !== undefined) await context.workshop.stop(variant.held);
    }
  }
}

/** Memory: idle, per held stream, and a while after load. Fresh processes, so no earlier heap. */
export async function memorySuite(bench: Bench, names: readonly VariantName[]): Promise<void> {
  const { options, context, notebook, say } = bench;
  // Each stream costs the proxy two descriptors; some are needed for everything else.
  const room = Math.floor((openFilesLimit() - 200) / 2);
  const streams = Math.min(options.held, room);
  if (streams < options.held) {
    notebook.remark(
      `memory: ${streams} streams instead of ${options.held}: the limit of open files is ${openFilesLimit()}`,
    );
  }
  if (streams < 1) {
    notebook.fail('memory: the limit of open files leaves no room for a stream');
    return;
  }
  await context.workshop.pace({ eventsPerSecond: 0 });
  const running: Running[] = [];
  for (const name of names) {
    const variant = await startVariant(name, { ...context, collectable: true });
    if (isRunning(variant)) running.push(variant);
    else notebook.fail(`memory/${name}: ${variant.reason}`);
  }
  const idle = new Map<VariantName, number>();
  await sleep(options.smoke ? 100 : 3_000);
  for (const variant of running) {
    const idleKiB = resident(variant);
    idle.set(variant.name, idleKiB);
    notebook.note('memory', variant.name, 'idleMiB', idleKiB / KIB_PER_MIB);
    say(`memory: ${streams} idle streams through ${variant.name}`);
    await holdSome(bench, variant, streams);
  }
  say(`memory: load, then ${options.settle} s of rest`);
  for (const variant of running) {
    const run = {
      target: variant.target,
      connections: options.connections,
      warmupMs: 0,
      windowMs: options.seconds * 1_000,
    };
    const result = await context.workshop.generator.ask<WindowResult>(
      'closedLoop',
      run,
      windowTimeout(options),
    );
    complain(bench, 'memory', variant.name, result);
  }
  await sleep(options.settle * 1_000);
  for (const variant of running) {
    // No collection is asked for here: what counts is what an operator would see.
    const after = resident(variant);
    notebook.note('memory', variant.name, 'afterLoadMiB', after / KIB_PER_MIB);
    notebook.note('memory', variant.name, 'afterLoadRatio', after / idle.get(variant.name)!);
    if (variant.held !== undefined) await context.workshop.stop(variant.held);
  }
}

function resident(variant: Running): number {
  return variant.held === undefined ? Number.NaN : residentKiB(groupMembers(variant.held.pid));
}

async function holdSome(bench: Bench, variant: Running, streams: number): Promise<void> {
  const { context, notebook, options } = bench;
  const { generator } = context.workshop;
  const timeout = 30_000 + streams * 20;
  // A few streams first: lazily built parts and grown tables are not the price of a stream.
  const warm = Math.min(100, streams);
  await generator.ask<HoldResult>('hold', { target: variant.target, streams: warm }, timeout);
  await generator.ask('release', {}, timeout);
  await collect(variant, options.smoke);
  const before = resident(variant);
  const result = await generator.ask<HoldResult>(
    'hold',
    { target: variant.target, streams },
    timeout,
  );
  await collect(variant, options.smoke);
  const after = resident(variant);
  const open = await generator.ask<number>('release', {}, timeout);
  if (open < streams) {
    notebook.fail(
      `memory/${variant.name}: only ${open} of ${streams} streams held: ${result.reasons.join('; ')}`,
    );
  } else {
    notebook.note('memory', variant.name, 'streamKiB', (after - before) / streams);
  }
  await expectNoStreams(bench, 'memory', variant.name);
}

/** Lets short-lived garbage go. nginx has none and does not know the signal. */
async function collect(variant: Running, quick: boolean): Promise<void> {
  if (variant.name === 'nginx' || variant.held === undefined) return;
  const startedAt = nowMicros();
  for (let i = 0; i < 2; i += 1) {
    process.kill(variant.held.pid, 'SIGUSR2');
    await sleep(quick ? 100 : 1_000);
  }
  // Freed pages go back to the system a little after the collection.
  while ((nowMicros() - startedAt) / 1e3 < (quick ? 200 : 3_000)) await sleep(50);
}
