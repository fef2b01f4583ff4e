import { type AuditClock } from './core/audit-clock';

/** Real time; its timers keep no process alive. */
export const NODE_CLOCK: AuditClock = {
  unixMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule: (run, ms) => {
    const timer = setTimeout(run, ms).unref();
    return () => {
      clearTimeout(timer);
    };
  },
};
