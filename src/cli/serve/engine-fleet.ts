import { setTimeout as sleep } from 'node:timers/promises';
import { type Writable } from 'node:stream';
import { EngineProcess, type EnginePlan } from './engine.process';
import { GROUP_END_SECS } from './process-group';
import { ServeError } from './serve-error';

/** From SMG: how often an engine that starts is asked, and how long it may take to answer. */
const PROBE_INTERVAL_MS = 2000;
const PROBE_TIMEOUT_MS = 5000;
/** Between looks whether a group is gone. */
const END_POLL_MS = 25;
/** After SIGKILL: a process in an uninterruptible call may still be there, and nothing helps. */
const KILLED_MS = 1000;
/** For the last lines of engines that have ended; a stranger may hold their output open. */
const LAST_LINES_MS = 500;

export interface FleetOptions {
  readonly output: Writable;
  readonly probeIntervalMs?: number;
  readonly endMs?: number;
  readonly log: (text: string) => void;
}

/** The engines of `smg serve`: start together, end together. */
export class EngineFleet {
  private readonly engines: readonly EngineProcess[];
  private ending: Promise<void> | undefined;

  /** Starts them all. */
  constructor(
    plans: readonly EnginePlan[],
    private readonly options: FleetOptions,
  ) {
    const { output } = options;
    // Each of two streams per engine may wait for room in it.
    output.setMaxListeners(Math.max(output.getMaxListeners(), 2 * plans.length + 10));
    this.engines = plans.map((plan) => {
      const engine = new EngineProcess(plan, options.output);
      const gpus = plan.env['CUDA_VISIBLE_DEVICES'] ?? '';
      options.log(`${engine.name}: started, pid ${engine.pid ?? 'none'}, GPUs ${gpus}`);
      return engine;
    });
  }

  /** Resolves when each answers `/health`. @throws ServeError when one ends, or at the deadline. */
  async untilReady(timeoutMs: number): Promise<void> {
    const over = new AbortController();
    const waiting = new Set(this.engines);
    try {
      await Promise.race([
        Promise.all(
          this.engines.map(async (engine) => {
            await this.untilHealthy(engine, over.signal);
            waiting.delete(engine);
            this.options.log(`${engine.name}: ready`);
          }),
        ),
        ...this.engines.map(async (engine) => {
          const end = await engine.ended;
          throw new ServeError(`${engine.name} ended before all were ready: ${end}`);
        }),
        sleep(timeoutMs, undefined, { signal: over.signal }).then(() => {
          const names = [...waiting].map(({ name }) => name).join(', ');
          throw new ServeError(
            `not ready within --worker-startup-timeout ${timeoutMs / 1000}: ${names}`,
          );
        }),
      ]);
    } finally {
      over.abort();
    }
  }

  private async untilHealthy(engine: EngineProcess, over: AbortSignal): Promise<void> {
    const { probeIntervalMs = PROBE_INTERVAL_MS } = this.options;
    while (!(await isHealthy(`${engine.plan.url}/health`, over))) {
      await sleep(probeIntervalMs, undefined, { signal: over });
    }
  }

  /**
   * Resolves with why the fleet cannot go on: an engine ended, or with `continue` the last one.
   * Never while it is being ended.
   */
  failure(engineExit: 'stop' | 'continue'): Promise<string> {
    return new Promise((resolve) => {
      for (const engine of this.engines) {
        void engine.ended.then((end) => {
          if (this.ending !== undefined) return;
          const text = `${engine.name} ended: ${end}`;
          if (engineExit === 'stop' || !this.engines.some(({ isRunning }) => isRunning)) {
            resolve(text);
          } else this.options.log(`${text}; going on without it`);
        });
      }
    });
  }

  /** Ends every group: SIGTERM, and SIGKILL for what is left after 30 s in total. */
  stop(): Promise<void> {
    this.ending ??= this.end();
    return this.ending;
  }

  private async end(): Promise<void> {
    const { log, endMs = GROUP_END_SECS * 1000 } = this.options;
    for (const engine of this.engines) engine.terminate();
    let left = await this.gone(endMs);
    for (const engine of left) {
      log(`${engine.name}: did not end in time and is killed`);
      engine.kill();
    }
    left = await this.gone(KILLED_MS);
    await Promise.race([
      Promise.all(this.engines.map(({ written }) => written)),
      sleep(LAST_LINES_MS, undefined, { ref: false }),
    ]);
    // The watch of a group that is still there stays: it tries once more when we are gone.
    for (const engine of this.engines) if (!left.includes(engine)) engine.release();
  }

  /** @returns the engines of which something is left at the deadline. */
  private async gone(timeoutMs: number): Promise<readonly EngineProcess[]> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const left = this.engines.filter(({ isAlive }) => isAlive);
      if (left.length === 0 || performance.now() >= deadline) return left;
      await sleep(END_POLL_MS);
    }
  }
}

async function isHealthy(url: string, over: AbortSignal): Promise<boolean> {
  try {
    const signal = AbortSignal.any([over, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
    const answer = await fetch(url, { redirect: 'manual', signal });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    over.throwIfAborted();
    return false;
  }
}
