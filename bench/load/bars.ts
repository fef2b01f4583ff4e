import { type Metric, type Notebook } from './measure';
import { type SuiteName, type VariantName } from './options';
import { median, ratio } from './statistics';

/** A promise about the gateway's figures. */
export interface Bar {
  readonly suite: SuiteName;
  readonly metric: Metric;
  readonly title: string;
  /** Whose figure it is; the gateway's unless told otherwise. */
  readonly of?: VariantName;
  /** Compared to another variant in the same rounds, or as measured. */
  readonly against: VariantName | 'itself';
  /** Compared by the least of all rounds, what each costs undisturbed; else by the median round. */
  readonly byMinima?: boolean;
  readonly atMost: number;
  /** Where the road leads after the bar. */
  readonly goal?: number;
}

/** The bars, in the order of the suites: upper bounds, of a median over rounds but where it says so. */
export const BARS: readonly Bar[] = [
  {
    suite: 'json',
    metric: 'cpuPerRequest',
    title: 'CPU per request, every feature on, ÷ nginx',
    against: 'nginx',
    atMost: 4,
    goal: 3,
  },
  {
    suite: 'json',
    metric: 'cpuPerRequest',
    title: 'CPU per request, RL on (latest-only) ÷ off',
    of: 'gateway-rl',
    against: 'gateway',
    atMost: 1.15,
  },
  {
    suite: 'sse',
    metric: 'cpuPerEvent',
    title: 'CPU per paced SSE event, ÷ nginx',
    against: 'nginx',
    atMost: 2.5,
    goal: 1.8,
  },
  {
    suite: 'latency',
    metric: 'addedP50',
    title: 'added latency at concurrency 1, median, ms',
    against: 'itself',
    atMost: 0.3,
  },
  {
    suite: 'latency',
    metric: 'addedP99',
    title: 'added latency at concurrency 1, p99, ms',
    against: 'itself',
    atMost: 1,
  },
  {
    suite: 'latency',
    metric: 'slowest',
    title: 'no 40 ms step (delayed ACK): p99.9, ms',
    against: 'itself',
    atMost: 35,
  },
  {
    suite: 'policies',
    metric: 'cpuPerRequest',
    title: 'CPU per request, cache_aware ÷ round_robin (minima)',
    of: 'cache-aware',
    against: 'round-robin',
    byMinima: true,
    atMost: 1.3,
  },
  {
    suite: 'memory',
    metric: 'streamKiB',
    title: 'memory per held idle stream, KiB',
    against: 'itself',
    atMost: 32,
  },
  {
    suite: 'memory',
    metric: 'idleMiB',
    title: 'idle memory, MiB',
    against: 'itself',
    atMost: 120,
  },
  {
    suite: 'memory',
    metric: 'afterLoadRatio',
    title: 'memory a minute after load ÷ idle',
    against: 'itself',
    atMost: 1.2,
  },
  {
    suite: 'startup',
    metric: 'firstAnswerMs',
    title: 'start to first answer, ms',
    against: 'itself',
    atMost: 1500,
  },
];

export interface Verdict {
  readonly bar: Bar;
  /** Median; NaN when it could not be measured. */
  readonly value: number;
  readonly word: 'pass' | 'miss' | 'not measured';
}

/** Holds the measured figures against the bars of the suites that ran. */
export function judge(notebook: Notebook, suites: readonly SuiteName[]): Verdict[] {
  return BARS.filter((bar) => suites.includes(bar.suite)).map((bar) => {
    const values = notebook.values(bar.suite, bar.of ?? 'gateway', bar.metric);
    const value = bar.against === 'itself' ? median(values) : compare(bar, values, notebook);
    if (Number.isNaN(value)) return { bar, value, word: 'not measured' };
    return { bar, value, word: value <= bar.atMost ? 'pass' : 'miss' };
  });
}

function compare(bar: Bar, values: readonly number[], notebook: Notebook): number {
  if (bar.against === 'itself') return Number.NaN;
  const { median, ofMinima } = ratio(values, notebook.values(bar.suite, bar.against, bar.metric));
  return bar.byMinima === true ? ofMinima : median;
}
