interface Timer {
  readonly id: number;
  at: number;
  readonly every: number | undefined;
  readonly run: () => void;
}

/** Time that moves only when a test says so. Milliseconds throughout. */
export class FakeClock {
  private time: number;
  private nextId = 1;
  private readonly timers = new Map<number, Timer>();

  constructor(startMs = 0) {
    this.time = startMs;
  }

  /** Bound, so that it can be passed as `clock.now`. */
  readonly now = (): number => this.time;

  readonly setTimeout = (run: () => void, ms = 0): number => this.schedule(run, ms, undefined);

  readonly setInterval = (run: () => void, ms: number): number => this.schedule(run, ms, ms);

  readonly clearTimeout = (id: number | undefined): void => {
    if (id !== undefined) this.timers.delete(id);
  };

  readonly clearInterval = this.clearTimeout;

  /** Timers not yet due; 0 proves that nothing was left behind. */
  get pending(): number {
    return this.timers.size;
  }

  /** Moves time on and runs what falls due, in order of due time, then of creation. */
  advance(ms: number): void {
    const until = this.time + ms;
    for (let due = this.nextDue(until); due !== undefined; due = this.nextDue(until)) {
      this.time = Math.max(this.time, due.at);
      // A repeating timer of 0 ms would never let time pass.
      if (due.every === undefined) this.timers.delete(due.id);
      else due.at += Math.max(1, due.every);
      due.run();
    }
    this.time = until;
  }

  /** Like {@link advance}, letting promise callbacks run before and after. */
  async advanceAsync(ms: number): Promise<void> {
    await flushMicrotasks();
    this.advance(ms);
    await flushMicrotasks();
  }

  private schedule(run: () => void, ms: number, every: number | undefined): number {
    const id = this.nextId++;
    this.timers.set(id, { id, at: this.time + Math.max(0, ms), every, run });
    return id;
  }

  private nextDue(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.timers.values()) {
      if (timer.at > until) continue;
      if (first === undefined || timer.at < first.at) first = timer;
    }
    return first;
  }
}

/** Lets promise callbacks that are already due run, including chains of a few links. */
async function flushMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
