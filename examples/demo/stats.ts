/** Latencies kept per worker for its percentiles. */
const KEPT = 500;
/** Sentences kept of each kind of trouble. */
const EXAMPLES = 5;

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

/** What the headers of a good answer say of its weights. */
export interface Stamp {
  /** `x-smg-weight-version`: version when the head was written; undefined before the first refit. */
  readonly version: string | undefined;
  /** `x-smg-weight-version-start`, else `version`: version at dispatch. */
  readonly start: string | undefined;
  /** `x-smg-mixed-version: true`. */
  readonly isMixed: boolean;
}

/** What was measured of the traffic. */
export class Stats {
  readonly workers = new Map<string, WorkerStats>();
  /** Good answers per version of their stamp, in order of appearance. */
  readonly versions = new Map<string, number>();
  failed = 0;
  /** Sent to an engine although another already had newer weights. */
  stale = 0;
  /** Without a version although an engine already had one when the request was sent. */
  unstamped = 0;
  /** Flagged by the gateway as made by two versions. */
  mixed = 0;
  /** The first few failures, as sentences. */
  readonly failures: string[] = [];

  /** @param newest latest version any engine had confirmed when the request was sent; 0 for none. */
  succeeded(worker: string, latencyMs: number, stamp: Stamp, newest: number): void {
    let stats = this.workers.get(worker);
    if (stats === undefined) this.workers.set(worker, (stats = new WorkerStats()));
    stats.add(latencyMs);
    const { version, start } = stamp;
    if (version !== undefined) this.versions.set(version, (this.versions.get(version) ?? 0) + 1);
    if (stamp.isMixed) this.mixed += 1;
    if (newest === 0) return;
    if (version === undefined) {
      this.unstamped += 1;
      this.example(`no version from ${worker}, version ${newest} was out`);
    } else if (Number(start) < newest) {
      this.stale += 1;
      this.example(`sent to ${worker} at version ${start}, version ${newest} was out`);
    }
  }

  fail(why: string): void {
    this.failed += 1;
    this.example(why);
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

  private example(text: string): void {
    if (this.failures.length < EXAMPLES) this.failures.push(text);
  }
}
