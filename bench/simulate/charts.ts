import { TIMELINE_STEP } from './measures';
import { type Result, type SweepPoint } from './result';
import { type Axis, barChart, lineChart } from './svg';

/** A file name and its content. */
export type Chart = readonly [name: string, svg: string];

/** Variants whose way through a refit, or through more and more requests, is drawn. */
export const DRAWN = [
  'cache_aware tight',
  'prefix_hash',
  'consistent_hashing',
  'manual min_load',
  'least_load sticky',
  'round_robin',
];

const percent = (value: number): string => `${Math.round(value * 100)} %`;

export function seconds(ms: number): string {
  if (ms >= 100_000) return `${Math.round(ms / 1000)} s`;
  return ms >= 10_000
    ? `${(ms / 1000).toFixed(0)} s`
    : `${(ms / 1000).toFixed(ms < 1_000 ? 2 : 1)} s`;
}

function micros(ns: number): string {
  return ns < 10_000 ? `${(ns / 1000).toFixed(1)} µs` : `${Math.round(ns / 1000)} µs`;
}

const HIT_RATE: Axis = {
  label: 'prompt tokens found in the KV cache of the engine',
  least: 0,
  most: 1,
  format: percent,
};
const TTFT_MEAN: Axis = {
  label: 'time to first token, mean',
  least: 0,
  most: 1_250,
  format: seconds,
};
const TTFT_P99: Axis = {
  label: 'time to first token, p99',
  least: 0,
  most: 7_000,
  format: seconds,
};
const DECISION: Axis = {
  label: 'CPU per decision (logarithmic)',
  least: 100,
  most: 100_000,
  isLog: true,
  format: micros,
};
const IMBALANCE: Axis = {
  label: 'requests in flight: most loaded worker ÷ mean',
  least: 0,
  most: 3,
  format: (value) => value.toFixed(1),
};

/** The plots that the results allow. */
export function chartsOf(
  results: readonly Result[],
  sweep: readonly SweepPoint[],
): readonly Chart[] {
  const regular = results.filter(({ scenario }) => scenario.leg === 'regular');
  if (regular.length === 0) return [];
  const sizes = [...new Set(regular.map(({ scenario }) => scenario.workers))];
  const middle = sizes.includes(64) ? 64 : sizes[0]!;
  const ofMiddle = regular.filter(({ scenario }) => scenario.workers === middle);
  const bars = (title: string, axis: Axis, value: (result: Result) => number): string =>
    barChart({
      title,
      axis,
      series: sizes.map((size) => `${size} workers`),
      rows: rowsOf(regular, sizes, value),
    });
  return [
    ['hit-rate.svg', bars('KV-cache hit rate', HIT_RATE, ({ outcome }) => outcome.hitRate)],
    [
      'ttft-mean.svg',
      bars('Time to first token, mean', TTFT_MEAN, ({ outcome }) => outcome.ttftMean),
    ],
    ['ttft-p99.svg', bars('Time to first token, p99', TTFT_P99, ({ outcome }) => outcome.ttftP99)],
    ['imbalance.svg', bars('Imbalance', IMBALANCE, ({ outcome }) => outcome.maxOverMean)],
    ['decision.svg', bars('What a decision costs', DECISION, ({ cost }) => cost.cpu)],
    ['refit.svg', refitOf(ofMiddle, middle)],
    ...(sweep.length === 0 ? [] : [['sweep.svg', sweepOf(sweep)] as const]),
  ];
}

function rowsOf(
  results: readonly Result[],
  sizes: readonly number[],
  value: (result: Result) => number,
): { name: string; values: number[] }[] {
  const names = [...new Set(results.map(({ variant }) => variant.name))];
  return names.map((name) => ({
    name,
    values: sizes.map((size) => {
      const found = results.find(
        ({ variant, scenario }) => variant.name === name && scenario.workers === size,
      );
      return found === undefined ? Number.NaN : value(found);
    }),
  }));
}

function refitOf(results: readonly Result[], workers: number): string {
  const { seconds: length, refit } = results[0]!.scenario;
  const drawn = results.filter(({ variant }) => DRAWN.includes(variant.name));
  return lineChart({
    title: `Hit rate through a rolling refit, ${workers} workers`,
    x: { label: 'seconds', least: 0, most: length, format: String },
    y: HIT_RATE,
    ...(refit.at < length && {
      band: { from: refit.at, to: refit.at + refit.groups * refit.pause, label: 'new weights' },
    }),
    series: drawn.map(({ variant, outcome }) => ({
      name: variant.name,
      points: outcome.timeline.map((rate, i) => [(i + 0.5) * TIMELINE_STEP, rate] as const),
    })),
  });
}

function sweepOf(sweep: readonly SweepPoint[]): string {
  const rates = sweep.map(({ rate }) => rate);
  return lineChart({
    title: 'Time to first token, mean, under more and more requests, 64 workers',
    x: {
      label: 'requests per second and worker',
      least: Math.min(...rates),
      most: Math.max(...rates),
      format: String,
    },
    y: { label: '', least: 90, most: 20_000, isLog: true, format: seconds },
    series: DRAWN.map((name) => ({
      name,
      points: sweep
        .filter(({ policy }) => policy === name)
        .map(({ rate, outcome }) => [rate, outcome.ttftMean] as const),
    })),
  });
}
