import { place, table } from '../load/report';
import { seconds } from './charts';
import { type Result } from './result';

const HEADER = [
  'policy',
  'hit rate',
  'max ÷ mean',
  'p99 ÷ mean',
  'TTFT mean',
  'TTFT p99',
  'decision p50 / p99 µs',
  'CPU µs',
  'state MiB',
];

function rowOf({ variant, outcome, cost }: Result): string[] {
  return [
    variant.name,
    `${(outcome.hitRate * 100).toFixed(1)} %`,
    outcome.maxOverMean.toFixed(2),
    outcome.p99OverMean.toFixed(2),
    seconds(outcome.ttftMean),
    seconds(outcome.ttftP99),
    `${micros(cost.p50)} / ${micros(cost.p99)}`,
    micros(cost.cpu),
    (cost.stateBytes / 2 ** 20).toFixed(1),
  ];
}

function micros(ns: number): string {
  return (ns / 1000).toFixed(ns < 10_000 ? 2 : 0);
}

/** A table per fleet, Markdown. */
export function tablesOf(results: readonly Result[]): string {
  const { date, commit, machine, node } = place(undefined);
  const lines = [`${date}, commit ${commit}, ${machine}, Node ${node}.`];
  for (const name of new Set(results.map(({ scenario }) => scenario.name))) {
    const own = results.filter(({ scenario }) => scenario.name === name);
    const { seconds: length, warmUp } = own[0]!.scenario;
    lines.push('', `### ${name}`, '');
    lines.push(
      `${own[0]!.outcome.requests.toLocaleString('en')} requests measured in the last ${length - warmUp} of ${length} simulated seconds (first row).`,
      '',
      ...table([HEADER, ...own.map(rowOf)]),
    );
  }
  return `${lines.join('\n').trim()}\n`;
}

/** Every figure, a row per policy and fleet. */
export function csvOf(results: readonly Result[]): string {
  const lines = [
    'fleet,policy,flags,requests,refused,hit_rate,hit_rate_chat,hit_rate_rollout,hit_rate_tail,' +
      'max_over_mean,p99_over_mean,ttft_mean_ms,ttft_p50_ms,ttft_p99_ms,' +
      'decision_p50_ns,decision_p99_ns,decision_cpu_ns,state_bytes',
  ];
  for (const { scenario, variant, outcome, cost } of results) {
    const { chat, rollout, tail } = outcome.hitRates;
    const figures = [
      outcome.requests,
      outcome.refused,
      ...[outcome.hitRate, chat, rollout, tail].map((rate) => rate.toFixed(4)),
      ...[outcome.maxOverMean, outcome.p99OverMean].map((ratio) => ratio.toFixed(3)),
      ...[outcome.ttftMean, outcome.ttftP50, outcome.ttftP99].map(Math.round),
      ...[cost.p50, cost.p99, cost.cpu, cost.stateBytes].map(Math.round),
    ];
    lines.push(
      [scenario.name, variant.name, variant.flags.replaceAll(',', ' '), ...figures].join(','),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Puts a report between its marks. @throws Error when the text has none. */
export function placeBetweenMarks(text: string, report: string): string {
  const begin = '<!-- simulate:begin -->';
  const end = '<!-- simulate:end -->';
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${report}\n${text.slice(to)}`;
}
