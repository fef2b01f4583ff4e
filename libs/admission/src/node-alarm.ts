import { type Alarm } from './core/entry-gate';

/** Longest delay a timer of Node takes; the gate sets the alarm again when it rings too early. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** One timer of Node. Who waits has a connection, which keeps the process alive: the timer need not. */
export class NodeAlarm implements Alarm {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly now: () => number,
    private readonly ring: () => void,
  ) {}

  set(at: number): void {
    clearTimeout(this.timer);
    const delay = Math.min(Math.max(Math.ceil(at - this.now()), 1), MAX_DELAY_MS);
    this.timer = setTimeout(this.ring, delay);
    this.timer.unref();
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
