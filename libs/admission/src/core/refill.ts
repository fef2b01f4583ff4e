/** Permits that come back with time, besides those that ended requests give back; in integers. */
export class Refill {
  /** Thousandths of a permit: a rate of `n` per second gains `n` of them each millisecond. */
  private gained = 0;

  /** @param perSecond 0 refills nothing. @param at whole milliseconds of a monotonic clock. */
  constructor(
    readonly perSecond: number,
    private at: number,
  ) {}

  /** Permits that came back since the last call, at most `out`: a full bucket gains nothing. */
  since(at: number, out: number): number {
    const elapsed = at - this.at;
    this.at = at;
    if (this.perSecond === 0 || out === 0) {
      this.gained = 0;
      return 0;
    }
    this.gained += elapsed * this.perSecond;
    const whole = Math.floor(this.gained / 1000);
    if (whole >= out) {
      this.gained = 0;
      return out;
    }
    this.gained -= whole * 1000;
    return whole;
  }

  /** Time at which the next permit is back; Infinity without a rate. */
  get nextAt(): number {
    if (this.perSecond === 0) return Infinity;
    return this.at + Math.ceil((1000 - this.gained) / this.perSecond);
  }
}
