import Benchmark from 'benchmark';
import { type MicroCase, OPERATIONS } from './micro-suite';

/** Cost of one operation. */
export interface Cost {
  readonly name: string;
  readonly medianNs: number;
  readonly minNs: number;
  /** Relative margin of error, percent. */
  readonly errorPercent: number;
  readonly atMostNs: number | undefined;
  /** 99th percentile of single calls and its bar, where the case has one. */
  readonly tail: { readonly p99Ns: number; readonly atMostNs: number } | undefined;
}

/** Results are added here, where the compiler cannot know that nobody reads them. */
const sink = new Float64Array(1);

/** Measures one case, synchronously. @throws what the case throws. */
export function measureCase(one: MicroCase, smoke: boolean): Cost {
  const bench = new Benchmark(
    one.name,
    () => {
      sink[0]! += one.run();
    },
    smoke
      ? { maxTime: 0.01, minSamples: 2, minTime: 0.005, initCount: 1 }
      : { maxTime: 1, minSamples: 20 },
  );
  bench.run({ async: false });
  // benchmark.js keeps an error instead of throwing it.
  const failure = bench.error as Error | undefined;
  if (failure !== undefined) throw failure;
  const samples = [...(bench.stats.sample as number[])].sort((a, b) => a - b);
  const perOperation = (seconds: number): number => (seconds * 1e9) / OPERATIONS;
  return {
    name: one.name,
    medianNs: perOperation(samples[samples.length >> 1] ?? Number.NaN),
    minNs: perOperation(samples[0] ?? Number.NaN),
    errorPercent: bench.stats.rme,
    atMostNs: one.atMostNs,
    tail:
      one.tail === undefined
        ? undefined
        : { p99Ns: tailOf(one.tail.once, smoke), atMostNs: one.tail.p99AtMostNs },
  };
}

/** 99th percentile of calls timed one by one; the clock's own ~50 ns are included. */
function tailOf(once: () => number, smoke: boolean): number {
  const calls = smoke ? 200 : 20_000;
  const samples = new Float64Array(calls);
  for (let i = 0; i < calls; i += 1) {
    const start = process.hrtime.bigint();
    sink[0]! += once();
    samples[i] = Number(process.hrtime.bigint() - start);
  }
  return samples.sort()[Math.ceil(calls * 0.99) - 1]!;
}
