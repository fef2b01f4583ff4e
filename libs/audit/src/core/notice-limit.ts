/** Milliseconds between two notices of the same kind. */
const INTERVAL_MS = 10_000;

/** Lets one notice through per interval and counts the rest for the next. */
export class NoticeLimit {
  private nextAt = -Infinity;
  private held = 0;

  /**
   * @param now monotonic milliseconds.
   * @returns how many happened since the last notice, this one included; undefined to say nothing.
   */
  take(now: number): number | undefined {
    this.held += 1;
    if (now < this.nextAt) return undefined;
    const count = this.held;
    this.held = 0;
    this.nextAt = now + INTERVAL_MS;
    return count;
  }
}
