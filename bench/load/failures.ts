/** Different reasons kept; the rest is only counted. */
const MAX_REASONS = 5;
/** A run with more failures than this is pointless: the load stops. */
const MAX_FAILURES = 1_000;

/** Counts what went wrong in a window and keeps the first few reasons. */
export class Failures {
  count = 0;
  readonly reasons: string[] = [];

  get tooMany(): boolean {
    return this.count > MAX_FAILURES;
  }

  add(reason: string): void {
    this.count += 1;
    if (this.reasons.length < MAX_REASONS && !this.reasons.includes(reason)) {
      this.reasons.push(reason);
    }
  }
}
