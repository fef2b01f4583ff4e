import { constants } from 'node:os';
import { plainValue } from './plain-text';
import { ProgressBar, type Screen } from './progress-bar';
import { isRefitted, RefitRun, STEPS_PER_ENGINE, type RefitLine } from './refit.run';
import { type RlClient } from './rl-client';
import { EXIT, RlFailure } from './rl-failure';
import { type RefitFlags } from './rl-flags';
import { type RlProgram } from './rl-program';
import { renderTable } from './table';

type EndSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM';

/** A terminal, a shell and npm may each pass one Ctrl-C on; what comes this soon is no second thought. */
const SAME_SIGNAL_MS = 1000;

/** `smg rl refit`. @returns the exit code; 128 + the signal's number when one came. */
export async function refit(
  client: RlClient,
  flags: RefitFlags,
  program: RlProgram,
): Promise<number> {
  const { weightVersion } = flags;
  checkVersion(weightVersion);
  const interrupt = new AbortController();
  let signalled: EndSignal | undefined;
  let signalledAt = 0;
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    program.on(signal, () => {
      if (signalled !== undefined) {
        // A terminal that is closed is no impatience.
        if (signal === 'SIGHUP' || performance.now() - signalledAt < SAME_SIGNAL_MS) return;
        program.stderr.write('\nnot waiting for the resume: engines may still be paused\n');
        program.exit(128 + constants.signals[signal]);
        return;
      }
      signalled = signal;
      signalledAt = performance.now();
      program.stderr.write(`\n${signal}: resuming what was paused; once more to leave it\n`);
      interrupt.abort();
    });
  }
  const exitCode = (otherwise: number): number =>
    signalled === undefined ? otherwise : 128 + constants.signals[signalled];

  const run = new RefitRun(
    client,
    {
      modelPath: flags.modelPath,
      weightVersion,
      selector: flags.selector,
      mode: flags.mode,
      concurrency: flags.concurrency,
      keepFailedPaused: flags.keepFailedPaused === true,
    },
    interrupt.signal,
  );
  let count: number;
  try {
    count = await run.prepare();
  } catch (error) {
    if (interrupt.signal.aborted) return exitCode(EXIT.refused);
    throw error;
  }
  const bar = new ProgressBar(
    flags.json === true ? NOWHERE : program.stderr,
    count * STEPS_PER_ENGINE,
  );
  const lines = await run.run(bar);
  bar.end();
  const failed = lines.filter((line) => !isRefitted(line, weightVersion)).length;
  program.stdout.write(
    flags.json === true
      ? `${JSON.stringify(jsonOf(lines, flags, failed, signalled !== undefined))}\n`
      : `${tableOf(lines, weightVersion)}\n${lines.length} engines, ${failed} not at version ${weightVersion} and active\n`,
  );
  return exitCode(failed === 0 ? EXIT.ok : EXIT.engines);
}

const NOWHERE: Screen = { write: () => true };

/** The rule of the gateway, before anybody is paused for a version it would refuse. */
function checkVersion(version: string): void {
  if (!/^[\x21-\x7e]{1,128}$/.test(version)) {
    throw new RlFailure('--weight-version: 1 to 128 printable ASCII characters without blanks');
  }
}

function tableOf(lines: readonly RefitLine[], weightVersion: string): string {
  return renderTable(
    ['URL', 'PAUSE', 'LOAD', 'MS', 'RESUME', 'VERSION', 'CONTROL', 'RESULT'],
    lines.map((line) => [
      line.url,
      short(line.pause),
      short(line.load),
      plainValue(line.loadMs),
      short(line.resume),
      plainValue(line.version),
      plainValue(line.control),
      resultOf(line, weightVersion),
    ]),
  );
}

const short = (step: string): string => step.split(':', 1)[0] ?? '';

/** The first thing that went wrong. */
function resultOf(line: RefitLine, weightVersion: string): string {
  if (isRefitted(line, weightVersion)) return 'ok';
  const step = [line.pause, line.load, line.resume].find((one) => one.startsWith('failed'));
  if (step !== undefined) return step.slice('failed: '.length);
  if (line.version !== weightVersion) return `version is ${plainValue(line.version)}`;
  return `control is ${plainValue(line.control)}`;
}

function jsonOf(
  lines: readonly RefitLine[],
  { weightVersion }: RefitFlags,
  failed: number,
  interrupted: boolean,
): object {
  return {
    weight_version: weightVersion,
    interrupted,
    total: lines.length,
    failed,
    engines: lines.map((line) => ({
      worker_id: line.id,
      url: line.url,
      engine: line.engine,
      pause: line.pause,
      load: line.load,
      load_ms: line.loadMs,
      resume: line.resume,
      weight_version: line.version,
      control: line.control,
      ok: isRefitted(line, weightVersion),
    })),
  };
}
