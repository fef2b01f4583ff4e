/** Latencies kept per worker for its percentiles. */
const KEPT = 500;

/** The value below which `share` (0..1) of the values lie; undefined when there are none. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** What was measured of one worker. */
export class WorkerStats {
  served = 0;
  /** Milliseconds, the latest ones. */
  readonly latencies: number[] = [];

  add(latencyMs: number): void {
    this.served += 1;
    this.latencies.push(latencyMs);
    if (this.latencies.length > KEPT) this.latencies.shift();
  }
}

/** What was measured of the traffic. */
export class Stats {
  readonly workers = new Map<string, WorkerStats>();
  failed = 0;
  /** The first few failures, as sentences. */
  readonly failures: string[] = [];

  succeeded(worker: string, latencyMs: number): void {
    let stats = this.workers.get(worker);
    if (stats === undefined) this.workers.set(worker, (stats = new WorkerStats()));
    stats.add(latencyMs);
  }

  fail(why: string): void {
    this.failed += 1;
    if (this.failures.length < 5) this.failures.push(why);
  }

  get served(): number {
    let sum = 0;
    for (const { served } of this.workers.values()) sum += served;
    return sum;
  }

  /** Latencies of all workers together. */
  get latencies(): readonly number[] {
    return [...this.workers.values()].flatMap(({ latencies }) => latencies);
  }
}
