import { percentile, type Stats } from './stats';

/** What GET /workers says of a worker, as far as it is shown. */
export interface WorkerRow {
  readonly url: string;
  readonly status: string;
  /** Requests in flight. */
  readonly load: number;
}

const ms = (value: number | undefined): string =>
  value === undefined ? '-' : `${value.toFixed(0)} ms`;

/** One engine and what it is, for the first column. */
export type EngineNames = ReadonlyMap<string, string>;

/** Lines of the table, header included. */
export function tableOf(
  rows: readonly WorkerRow[],
  stats: Stats,
  names: EngineNames,
): readonly string[] {
  const head = ['worker', 'engine', 'state', 'in flight', 'served', 'p50', 'p99'];
  const cells = rows.map(({ url, status, load }) => {
    const measured = stats.workers.get(url);
    const latencies = measured?.latencies ?? [];
    return [
      url,
      names.get(url) ?? '',
      status,
      String(load),
      String(measured?.served ?? 0),
      ms(percentile(latencies, 0.5)),
      ms(percentile(latencies, 0.99)),
    ];
  });
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lineOf = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('   ')
      .trimEnd();
  return [lineOf(head), ...cells.map(lineOf)];
}

/** The whole fleet in one line, for output that is not a terminal. */
export function lineOf(rows: readonly WorkerRow[], stats: Stats, seconds: number): string {
  const ready = rows.filter(({ status }) => status === 'ready').length;
  const inFlight = rows.reduce((sum, { load }) => sum + load, 0);
  const { latencies } = stats;
  return [
    `${String(seconds).padStart(4)} s`,
    `${ready}/${rows.length} workers ready`,
    `in flight ${inFlight}`,
    `served ${stats.served}`,
    `failed ${stats.failed}`,
    `p50 ${ms(percentile(latencies, 0.5))}`,
    `p99 ${ms(percentile(latencies, 0.99))}`,
  ].join('   ');
}

/** Seconds between lines when the output is not a terminal. */
const LINE_EVERY_SECS = 5;

/** Shows progress: a table redrawn in place on a terminal, a line now and then elsewhere. */
export class Display {
  private drawn = 0;
  private nextLineAt = LINE_EVERY_SECS;

  constructor(
    private readonly out: NodeJS.WriteStream,
    private readonly names: EngineNames,
  ) {}

  show(rows: readonly WorkerRow[], stats: Stats, seconds: number): void {
    if (!this.out.isTTY) {
      if (seconds < this.nextLineAt) return;
      this.nextLineAt = seconds + LINE_EVERY_SECS;
      this.out.write(`${lineOf(rows, stats, seconds)}\n`);
      return;
    }
    const footer = `${seconds} s, ${stats.served} answers, ${stats.failed} failures. Ctrl-C ends it.`;
    // A line that wraps would make the way back up too short.
    const width = this.out.columns - 1;
    const lines = [...tableOf(rows, stats, this.names), '', footer].map((line) =>
      width > 0 ? line.slice(0, width) : line,
    );
    // Up to where the last table began, then clear to the end of the screen.
    const back = this.drawn === 0 ? '' : `\u001b[${this.drawn}A\u001b[J`;
    this.out.write(`${back}${lines.join('\n')}\n`);
    this.drawn = lines.length;
  }
}
