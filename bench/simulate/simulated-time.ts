import { type EventQueue } from './event-queue';

/** The machine's own clock, milliseconds: policies under simulation see another one. */
export const realNow: () => number = performance.now.bind(performance);

const REAL = { setInterval, clearInterval, setImmediate };

/**
 * Makes the process's clock and timers those of a queue, so that what policies do by time (evict,
 * expire, adjust) happens in simulated time and at the same moments in every run.
 */
export class SimulatedTime {
  private readonly stopped = new Set<object>();

  constructor(private readonly queue: EventQueue) {}

  install(): void {
    performance.now = () => this.queue.now;
    Object.assign(globalThis, {
      setInterval: (work: () => void, ms: number) => this.every(ms, work),
      clearInterval: (timer: object) => this.stopped.add(timer),
      setImmediate: (work: () => void) => {
        this.queue.after(0, work);
      },
    });
  }

  restore(): void {
    performance.now = realNow;
    Object.assign(globalThis, REAL);
  }

  private every(ms: number, work: () => void): object {
    const timer = { unref: () => timer };
    const tick = (): void => {
      if (this.stopped.has(timer)) return;
      work();
      this.queue.after(ms, tick);
    };
    this.queue.after(ms, tick);
    return timer;
  }
}
