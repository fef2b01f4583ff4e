import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import { type Verdict } from './bars';
import { METRICS, type Metric, type Notebook } from './measure';
import {
  type Options,
  POLICY_VARIANTS,
  type SuiteName,
  type VariantName,
  VARIANTS,
} from './options';
import { median, minimum, ratio } from './statistics';

/** Where a run took place; absolute figures mean nothing without it. */
export interface Place {
  readonly machine: string;
  readonly system: string;
  readonly node: string;
  readonly nginx: string;
  readonly commit: string;
  readonly date: string;
}

/** What others are measured against, unless a suite says otherwise. */
const BASELINES: readonly VariantName[] = ['nginx', 'bare'];

interface Columns {
  readonly metrics: readonly Metric[];
  /** The metric that is compared to the baselines. */
  readonly compared?: Metric;
  readonly baselines?: readonly VariantName[];
}

const COLUMNS: Readonly<Record<SuiteName, Columns>> = {
  json: {
    metrics: ['cpuPerRequest', 'requestsPerSecond', 'p50', 'p99'],
    compared: 'cpuPerRequest',
  },
  sse: { metrics: ['cpuPerEvent', 'eventsPerSecond', 'p50', 'p99'], compared: 'cpuPerEvent' },
  latency: { metrics: ['p50', 'p99', 'slowest', 'addedP50', 'addedP99'] },
  policies: {
    metrics: ['cpuPerRequest', 'requestsPerSecond', 'p50', 'p99'],
    compared: 'cpuPerRequest',
    baselines: ['round-robin'],
  },
  memory: { metrics: ['idleMiB', 'streamKiB', 'afterLoadMiB', 'afterLoadRatio'] },
  startup: { metrics: ['firstAnswerMs'] },
};

export function place(nginxProgram: string | undefined): Place {
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    machine: `${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, ${memory} GiB`,
    system: `${process.platform} ${release().split('-')[0] ?? ''}`,
    node: process.version,
    nginx: nginxProgram === undefined ? 'none' : nginxVersion(nginxProgram),
    commit: commit(),
    date: new Date().toISOString().slice(0, 10),
  };
}

/** The whole report, Markdown. */
export function render(
  where: Place,
  options: Options,
  notebook: Notebook,
  verdicts: readonly Verdict[],
): string {
  const lines = [
    `${where.date}, commit ${where.commit}, ${where.machine}, ${where.system}, Node ${where.node}, ` +
      `nginx ${where.nginx}; ${options.rounds} rounds of ${options.seconds} s. ` +
      'Figures are "median (minimum)" over rounds; ratios are "median of the rounds (ratio of minima)".',
  ];
  for (const suite of options.suites) {
    const rows = suiteTable(suite, notebook);
    if (rows.length > 1) lines.push('', `### ${suite}`, '', ...table(rows));
  }
  const judged = verdicts.map(({ bar, value, word }) => [
    bar.title,
    number(value, 2),
    `≤ ${bar.atMost}`,
    bar.goal === undefined ? '' : `≤ ${bar.goal}`,
    word,
  ]);
  lines.push('', '### bars', '');
  lines.push(...table([['gateway', 'measured', 'bar', 'goal', 'verdict'], ...judged]));
  if (notebook.remarks.length > 0) lines.push('', ...notebook.remarks.map((one) => `- ${one}`));
  return `${lines.join('\n')}\n`;
}

/** Puts a report between its marks; a text without marks becomes the report alone. */
export function placeBetweenMarks(text: string, report: string): string {
  const begin = '<!-- load:begin -->';
  const end = '<!-- load:end -->';
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) return report;
  return `${text.slice(0, from + begin.length)}\n\n${report}\n${text.slice(to)}`;
}

function suiteTable(suite: SuiteName, notebook: Notebook): string[][] {
  const { metrics, compared, baselines = BASELINES } = COLUMNS[suite];
  const titles = metrics.map((metric) => METRICS[metric].title);
  const comparing = compared === undefined ? [] : baselines.map((name) => `÷ ${name}`);
  const rows = [['variant', ...titles, ...comparing]];
  for (const variant of [...VARIANTS, ...POLICY_VARIANTS]) {
    const measured = metrics.map((metric) => notebook.values(suite, variant, metric));
    if (measured.every((values) => values.length === 0)) continue;
    const cells = metrics.map((metric, i) => figure(measured[i]!, METRICS[metric].digits));
    if (compared !== undefined) {
      const own = notebook.values(suite, variant, compared);
      for (const baseline of baselines) {
        const result = ratio(own, notebook.values(suite, baseline, compared));
        cells.push(
          Number.isNaN(result.median)
            ? '–'
            : `${number(result.median, 2)} (${number(result.ofMinima, 2)})`,
        );
      }
    }
    rows.push([variant, ...cells]);
  }
  return rows;
}

function figure(values: readonly number[], digits: number): string {
  const middle = median(values);
  if (Number.isNaN(middle)) return '–';
  const text = number(middle, digits);
  return values.length > 1 ? `${text} (${number(minimum(values), digits)})` : text;
}

function number(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits);
}

/** Padded as the formatter does it, so that a written file passes the format check. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const header = rows[0] ?? [];
  const widths = header.map((_, i) => Math.max(3, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)];
}

function nginxVersion(program: string): string {
  try {
    // nginx writes its version to stderr.
    const script = `"${program}" -v 2>&1`;
    const text = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
    return /nginx\/(\S+)/.exec(text)?.[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

function commit(): string {
  try {
    const options = { cwd: __dirname, encoding: 'utf8' as const, stdio: 'pipe' as const };
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], options).trim();
  } catch {
    return 'unknown';
  }
}
