/** `setInterval` takes no more milliseconds than this. */
export const MAX_TIMER_MS = 2_147_483_647;

/** Passing of time, as policies use it; tests drive their own. */
export interface Timers {
  /** Milliseconds, never going back. */
  now(): number;
  /** Runs `work` every `ms` until the returned function is called; never keeps the process alive. */
  every(ms: number, work: () => void): () => void;
  /** Runs `work` once other work had its turn. */
  soon(work: () => void): void;
}

/** The process's own timers. */
export const PROCESS_TIMERS: Timers = {
  now: () => performance.now(),
  every: (ms, work) => {
    const timer = setInterval(work, ms).unref();
    return () => {
      clearInterval(timer);
    };
  },
  soon: (work) => {
    setImmediate(work);
  },
};
