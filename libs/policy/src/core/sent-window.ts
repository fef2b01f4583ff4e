/** Requests a window keeps; with more in its time, the oldest leave early. */
const MAX_RECORDS = 16_384;

/** What was sent to each of a few workers in the last while; a ring of fixed size. */
export class SentWindow {
  private readonly times = new Float64Array(MAX_RECORDS);
  private readonly sizes = new Float64Array(MAX_RECORDS);
  private readonly places = new Int32Array(MAX_RECORDS);
  private sums: Float64Array;
  private head = 0;
  private count = 0;

  /** @param workers number of workers, known by their place. */
  constructor(
    workers: number,
    private readonly windowMs: number,
  ) {
    this.sums = new Float64Array(workers);
  }

  /** Sum of the sizes sent to the worker at `place`. */
  sumOf(place: number): number {
    return this.sums[place] ?? 0;
  }

  get total(): number {
    let total = 0;
    for (const sum of this.sums) total += sum;
    return total;
  }

  record(place: number, size: number, now: number): void {
    if (this.count === MAX_RECORDS) this.dropOldest();
    const at = (this.head + this.count) % MAX_RECORDS;
    this.times[at] = now;
    this.sizes[at] = size;
    this.places[at] = place;
    this.count += 1;
    this.sums[place] = (this.sums[place] ?? 0) + size;
  }

  /** Leaves out what is older than the window. */
  expire(now: number): void {
    const cutoff = now - this.windowMs;
    while (this.count > 0 && (this.times[this.head] ?? 0) <= cutoff) this.dropOldest();
  }

  /** Sizes of the window, ascending. */
  sortedSizes(): Float64Array {
    const sizes = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      sizes[i] = this.sizes[(this.head + i) % MAX_RECORDS] ?? 0;
    }
    return sizes.sort();
  }

  private dropOldest(): void {
    const place = this.places[this.head] ?? 0;
    this.sums[place] = (this.sums[place] ?? 0) - (this.sizes[this.head] ?? 0);
    this.head = (this.head + 1) % MAX_RECORDS;
    this.count -= 1;
  }
}
