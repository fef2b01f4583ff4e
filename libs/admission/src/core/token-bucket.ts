/** Milliseconds in the minute a budget is for. */
const MINUTE_MS = 60_000;
/**
 * Minutes of budget a bucket may owe. One false report of an engine must not lock a tenant out for a
 * day; 30 also keeps the arithmetic below exact for every limit of 32 bits.
 */
const MAX_DEBT_MINUTES = 30;

/**
 * A budget per minute: full at first, refilled without steps. Levels are kept in units of 1/60,000:
 * a limit of `n` per minute gains exactly `n` of them each millisecond, so that integers do.
 */
export class TokenBucket {
  private level: number;

  /**
   * @param perMinute 0 to 2^32 - 1; also the most that is there at once.
   * @param at integer milliseconds of a monotonic clock, as everywhere below.
   */
  constructor(
    readonly perMinute: number,
    private at: number,
  ) {
    this.level = perMinute * MINUTE_MS;
  }

  /** What is there, in whole and parts; below 0 while a settled request used more than there was. */
  levelAt(at: number): number {
    this.refill(at);
    return this.level / MINUTE_MS;
  }

  /**
   * Milliseconds until `amount` can be taken: 0 is now, Infinity is never.
   * @param amount integer >= 0.
   */
  waitFor(amount: number, at: number): number {
    if (amount > this.perMinute) return Infinity;
    this.refill(at);
    const missing = amount * MINUTE_MS - this.level;
    if (missing <= 0) return 0;
    return Math.ceil(missing / this.perMinute);
  }

  /** Takes whatever `waitFor` allowed, or more: a debt is paid off by time. Negative gives back. */
  take(amount: number, at: number): void {
    this.refill(at);
    const full = this.perMinute * MINUTE_MS;
    const owed = -full * MAX_DEBT_MINUTES;
    this.level = Math.max(owed, Math.min(full, this.level - amount * MINUTE_MS));
  }

  /** Time at which nothing tells the bucket from a new one. */
  get fullAt(): number {
    const missing = this.perMinute * MINUTE_MS - this.level;
    return missing === 0 ? this.at : this.at + Math.ceil(missing / this.perMinute);
  }

  /** Time at which nothing is owed any more. */
  get solventAt(): number {
    return this.level >= 0 ? this.at : this.at + Math.ceil(-this.level / this.perMinute);
  }

  private refill(at: number): void {
    const elapsed = at - this.at;
    if (elapsed <= 0) return;
    this.at = at;
    // A long idle time could exceed what a double holds exactly; a full bucket needs no product.
    const full = this.perMinute * MINUTE_MS;
    const isLong = elapsed >= MINUTE_MS * (MAX_DEBT_MINUTES + 1);
    this.level = isLong ? full : Math.min(full, this.level + elapsed * this.perMinute);
  }
}
