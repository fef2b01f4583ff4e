import { type SuiteName, type VariantName } from './options';

/** One quantity of one variant, one value per round; NaN where a round could not take it. */
export interface Measure {
  readonly suite: SuiteName;
  readonly variant: VariantName;
  readonly metric: Metric;
  readonly values: number[];
}

/** Name, unit and precision of what is measured. */
export const METRICS = {
  cpuPerRequest: { title: 'CPU/request µs', digits: 1 },
  requestsPerSecond: { title: 'req/s', digits: 0 },
  cpuPerEvent: { title: 'CPU/event µs', digits: 1 },
  eventsPerSecond: { title: 'events/s', digits: 0 },
  p50: { title: 'p50 ms', digits: 2 },
  p99: { title: 'p99 ms', digits: 2 },
  addedP50: { title: 'added p50 ms', digits: 3 },
  addedP99: { title: 'added p99 ms', digits: 3 },
  slowest: { title: 'p99.9 ms', digits: 2 },
  idleMiB: { title: 'idle MiB', digits: 1 },
  streamKiB: { title: 'idle stream KiB', digits: 1 },
  afterLoadMiB: { title: 'after load MiB', digits: 1 },
  afterLoadRatio: { title: 'after load ÷ idle', digits: 2 },
  firstAnswerMs: { title: 'first answer ms', digits: 0 },
} as const;

export type Metric = keyof typeof METRICS;

/** Collects what the suites measure, and what failed. */
export class Notebook {
  readonly measures: Measure[] = [];
  /** Failed requests and broken promises; any entry makes the run fail. */
  readonly failures: string[] = [];
  /** Remarks for the reader, such as a measure that this system does not offer. */
  readonly remarks: string[] = [];

  note(suite: SuiteName, variant: VariantName, metric: Metric, value: number): void {
    const known = this.find(suite, variant, metric);
    if (known === undefined) this.measures.push({ suite, variant, metric, values: [value] });
    else known.values.push(value);
  }

  find(suite: SuiteName, variant: VariantName, metric: Metric): Measure | undefined {
    return this.measures.find(
      (one) => one.suite === suite && one.variant === variant && one.metric === metric,
    );
  }

  values(suite: SuiteName, variant: VariantName, metric: Metric): readonly number[] {
    return this.find(suite, variant, metric)?.values ?? [];
  }

  fail(message: string): void {
    this.failures.push(message);
  }

  remark(message: string): void {
    if (!this.remarks.includes(message)) this.remarks.push(message);
  }
}
