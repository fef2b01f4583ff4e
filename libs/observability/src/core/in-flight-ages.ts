/**
 * How long the requests in flight have been running, without a handle per request: counts by start
 * second. Memory is bounded by the number of distinct seconds in which a live request began.
 */

/** Bounds of `smg_http_inflight_request_age_count`, in seconds (SMG contract, "Prometheus"). */
export const AGE_BOUNDS_SECS: readonly number[] = Object.freeze([
  30, 60, 180, 300, 600, 1200, 3600, 7200, 14_400, 28_800, 86_400,
]);

export class InFlightAges {
  private readonly bySecond = new Map<number, number>();
  private current = 0;

  get total(): number {
    return this.current;
  }

  /** @param nowMs monotonic. */
  started(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    this.bySecond.set(second, (this.bySecond.get(second) ?? 0) + 1);
    this.current++;
  }

  /**
   * @param startedMs when the request began, on the same clock. The caller measures it with a clock
   * reading of its own, so the neighbouring second is accepted too.
   */
  finished(startedMs: number): void {
    if (this.current === 0) return;
    this.current--;
    const second = Math.floor(startedMs / 1000);
    if (this.take(second) || this.take(second + 1) || this.take(second - 1)) return;
    // A caller with another idea of the start: the total stays right, the nearest second pays.
    let nearest = NaN;
    for (const known of this.bySecond.keys()) {
      const isNearer = Math.abs(known - second) < Math.abs(nearest - second);
      if (isNearer || Number.isNaN(nearest)) nearest = known;
    }
    this.take(nearest);
  }

  /** Requests per age bucket, not cumulative; one slot more than there are bounds. */
  histogram(nowMs: number): number[] {
    const counts = new Array<number>(AGE_BOUNDS_SECS.length + 1).fill(0);
    const now = Math.floor(nowMs / 1000);
    for (const [second, count] of this.bySecond) {
      const age = now - second;
      let bucket = 0;
      while (bucket < AGE_BOUNDS_SECS.length && age > (AGE_BOUNDS_SECS[bucket] ?? 0)) bucket++;
      counts[bucket] = (counts[bucket] ?? 0) + count;
    }
    return counts;
  }

  private take(second: number): boolean {
    const count = this.bySecond.get(second);
    if (count === undefined) return false;
    if (count === 1) this.bySecond.delete(second);
    else this.bySecond.set(second, count - 1);
    return true;
  }
}
