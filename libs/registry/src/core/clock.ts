/** Time as the registry sees it; tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `run` once after `ms`. @returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Longest delay a Node timer takes without firing at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** Real time. Its timers never keep the process alive. */
export const systemClock: Clock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, MAX_TIMER_MS));
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

/**
 * Waits, unless `signal` ends it first.
 * @throws the reason of the signal.
 */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const abort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    signal.addEventListener('abort', abort, { once: true });
  });
}
