/** Tells from a heartbeat whether the thread that beats is stuck. */
export class StallWatch {
  private seen: number;
  private changedAtMs: number;

  constructor(
    beat: number,
    nowMs: number,
    private readonly limitMs: number,
  ) {
    this.seen = beat;
    this.changedAtMs = nowMs;
  }

  /** Call it regularly: a beat between two calls is noticed at the second. */
  isStalled(beat: number, nowMs: number): boolean {
    if (beat !== this.seen) {
      this.seen = beat;
      this.changedAtMs = nowMs;
    }
    return nowMs - this.changedAtMs > this.limitMs;
  }
}
