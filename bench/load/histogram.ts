/** Plain form of a {@link Histogram}'s quantiles, small enough to send over IPC. */
export interface LatencySummary {
  readonly count: number;
  /** Milliseconds; NaN when nothing was recorded. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Bands of equal-width buckets: fine where answers are usual, coarse where they are rare. */
const BANDS = [
  { upToUs: 10_000, widthUs: 1 },
  { upToUs: 200_000, widthUs: 20 },
  { upToUs: 30_000_000, widthUs: 10_000 },
] as const;

const BUCKETS = 10_000 + 9_500 + 2_980;

/**
 * Latency histogram of fixed memory: 1 µs steps below 10 ms, 20 µs below 200 ms, 10 ms below 30 s;
 * anything longer lands in the last bucket.
 */
export class Histogram {
  private readonly counts = new Uint32Array(BUCKETS);
  private total = 0;
  private maxUs = 0;

  record(microseconds: number): void {
    const us = microseconds > 0 ? microseconds : 0;
    this.counts[Histogram.bucketOf(us)]! += 1;
    this.total += 1;
    if (us > this.maxUs) this.maxUs = us;
  }

  /** Upper edge of the bucket that holds the quantile, in milliseconds. @param q 0..1 */
  quantile(q: number): number {
    if (this.total === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil(q * this.total));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      seen += this.counts[bucket]!;
      if (seen >= rank) return Math.min(Histogram.upperEdge(bucket), this.maxUs) / 1000;
    }
    return this.maxUs / 1000;
  }

  summary(): LatencySummary {
    return {
      count: this.total,
      p50: this.quantile(0.5),
      p99: this.quantile(0.99),
      p999: this.quantile(0.999),
      max: this.total === 0 ? Number.NaN : this.maxUs / 1000,
    };
  }

  private static bucketOf(us: number): number {
    let from = 0;
    let base = 0;
    for (const band of BANDS) {
      if (us < band.upToUs) return base + Math.floor((us - from) / band.widthUs);
      base += (band.upToUs - from) / band.widthUs;
      from = band.upToUs;
    }
    return BUCKETS - 1;
  }

  private static upperEdge(bucket: number): number {
    let from = 0;
    let base = 0;
    for (const band of BANDS) {
      const size = (band.upToUs - from) / band.widthUs;
      if (bucket < base + size) return from + (bucket - base + 1) * band.widthUs;
      base += size;
      from = band.upToUs;
    }
    return from;
  }
}
