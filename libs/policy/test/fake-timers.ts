import { type Timers } from '../src/core/timers';

/** Timers that a test drives; `tick` runs the work of every interval still open. */
export class FakeTimers implements Timers {
  time = 0;
  stopped = 0;
  intervalMs = 0;
  readonly waiting: (() => void)[] = [];
  private readonly intervals = new Set<() => void>();

  now() {
    return this.time;
  }

  every(ms: number, work: () => void) {
    this.intervalMs = ms;
    this.intervals.add(work);
    return () => {
      this.stopped++;
      this.intervals.delete(work);
    };
  }

  soon(work: () => void) {
    this.waiting.push(work);
  }

  get open(): number {
    return this.intervals.size;
  }

  tick(): void {
    for (const work of [...this.intervals]) work();
  }

  settle(): void {
    for (let work = this.waiting.shift(); work !== undefined; work = this.waiting.shift()) work();
  }
}
