import { percentile, type Stats } from './stats';

/** What the gateway says of a worker, as far as it is shown. */
export interface WorkerRow {
  readonly url: string;
  /** `ready` and the like; a paused engine is still ready. */
  readonly status: string;
  /** Requests in flight. */
  readonly load: number;
  /** `active`, `paused` or `asleep`. */
  readonly control: string;
  /** Weight version, null before the first. */
  readonly version: string | null;
}

const ms = (value: number | undefined): string =>
  value === undefined ? '-' : `${value.toFixed(0)} ms`;

/** One engine and what it is, for the first column. */
export type EngineNames = ReadonlyMap<string, string>;

/** Columns of text; the others are numbers and stand to the right. */
const TEXT_COLUMNS = 4;

/** Lines of the table, header included. */
export function tableOf(
  rows: readonly WorkerRow[],
  stats: Stats,
  names: EngineNames,
): readonly string[] {
  const head = [
    'worker',
    'engine',
    'health',
    'control',
    'version',
    'in flight',
    'served',
    'p50',
    'p99',
  ];
  const cells = rows.map(({ url, status, load, control, version }) => {
    const measured = stats.workers.get(url);
    const latencies = measured?.latencies ?? [];
    return [
      url,
      names.get(url) ?? '',
      status,
      control,
      version ?? '-',
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
        column < TEXT_COLUMNS
          ? cell.padEnd(widths[column] ?? 0)
          : cell.padStart(widths[column] ?? 0),
      )
      .join('   ')
      .trimEnd();
  return [lineOf(head), ...cells.map(lineOf)];
}

/** Versions shown by name; older ones are summed up. */
const SHOWN_VERSIONS = 6;

/** Answers per version: `answers by version  1: 210   2: 305`. */
export function versionsOf({ versions }: Stats): string {
  const all = [...versions];
  const older = all.slice(0, -SHOWN_VERSIONS).reduce((sum, [, count]) => sum + count, 0);
  const parts = all.slice(-SHOWN_VERSIONS).map(([version, count]) => `${version}: ${count}`);
  if (older > 0) parts.unshift(`older: ${older}`);
  return `answers by version   ${parts.length === 0 ? 'none yet' : parts.join('   ')}`;
}

/** The promises, counted. */
export function promisesOf({ stale, unstamped, mixed, failed }: Stats): string {
  return `stale ${stale}   unstamped ${unstamped}   failed ${failed}   flagged as mixed ${mixed}`;
}

/** The whole fleet in one line, for output that is not a terminal. */
export function lineOf(rows: readonly WorkerRow[], stats: Stats, seconds: number): string {
  const { latencies } = stats;
  return [
    `${String(seconds).padStart(4)} s`,
    `versions ${rows.map(({ version }) => version ?? '-').join(' ')}`,
    `served ${stats.served}`,
    promisesOf(stats),
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

  /** @param doing what the trainer is at, for the table. */
  show(rows: readonly WorkerRow[], stats: Stats, seconds: number, doing: string): void {
    if (!this.out.isTTY) {
      if (seconds < this.nextLineAt) return;
      this.nextLineAt = seconds + LINE_EVERY_SECS;
      this.out.write(`${lineOf(rows, stats, seconds)}\n`);
      return;
    }
    const footer = `${seconds} s, ${stats.served} answers. Ctrl-C ends it.`;
    // A line that wraps would make the way back up too short.
    const width = this.out.columns - 1;
    const lines = [
      ...tableOf(rows, stats, this.names),
      '',
      `trainer   ${doing}`,
      versionsOf(stats),
      promisesOf(stats),
      '',
      footer,
    ].map((line) => (width > 0 ? line.slice(0, width) : line));
    // Up to where the last table began, then clear to the end of the screen.
    const back = this.drawn === 0 ? '' : `\u001b[${this.drawn}A\u001b[J`;
    this.out.write(`${back}${lines.join('\n')}\n`);
    this.drawn = lines.length;
  }

  /** Something worth a line of its own; a terminal shows it in the table already. */
  note(text: string): void {
    if (!this.out.isTTY) this.out.write(`       ${text}\n`);
  }
}
