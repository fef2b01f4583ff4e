// A small writer of plots: no dependency, no script, no font of its own.

const WIDTH = 840;
const FONT = 'font-family="system-ui, sans-serif"';
const INK = '#1f2933';
const FAINT = '#d9dee4';
export const PALETTE = ['#2563a8', '#e0802b', '#3a8f4c', '#b8405e', '#7a5cb0', '#6b7785'] as const;

/** What a quantity looks like on an axis. */
export interface Axis {
  readonly label: string;
  readonly least: number;
  readonly most: number;
  readonly isLog?: boolean;
  readonly format: (value: number) => string;
}

export interface Bars {
  readonly title: string;
  readonly axis: Axis;
  /** Names of the bars of a row. */
  readonly series: readonly string[];
  /** A value per series; NaN leaves the bar out. */
  readonly rows: readonly { readonly name: string; readonly values: readonly number[] }[];
}

/** Horizontal bars, a group per row. */
export function barChart({ title, axis, series, rows }: Bars): string {
  const left = 170;
  const right = WIDTH - 70;
  const bar = 9;
  const pitch = series.length * bar + 9;
  const top = 66;
  const bottom = top + rows.length * pitch;
  const x = scale(axis, left, right);
  const parts = [heading(title), legend(series)];
  for (const tick of ticksOf(axis)) {
    parts.push(line([x(tick), top], [x(tick), bottom], FAINT));
    parts.push(text(x(tick), bottom + 16, axis.format(tick), 'middle'));
  }
  parts.push(text((left + right) / 2, bottom + 36, axis.label, 'middle'));
  rows.forEach(({ name, values }, row) => {
    const y = top + row * pitch + 4;
    parts.push(text(left - 8, y + (series.length * bar) / 2 + 4, name, 'end'));
    values.forEach((value, i) => {
      if (Number.isNaN(value)) return;
      const end = x(value);
      const width = Math.max(1, end - left);
      const above = y + i * bar;
      parts.push(
        `<rect x="${left}" y="${above}" width="${round(width)}" height="${bar - 1}" fill="${colour(i)}"/>`,
      );
      const label = axis.format(value) + (value > axis.most ? ' →' : '');
      parts.push(text(end + 4, above + 7.5, label, 'start', 9));
    });
  });
  return document(title, bottom + 48, parts);
}

export interface Lines {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Points by x; a y of null interrupts the line. */
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, number | null])[];
  }[];
  /** A stretch of x that is shaded, and what happens there. */
  readonly band?: { readonly from: number; readonly to: number; readonly label: string };
}

/** Lines over time. */
export function lineChart({ title, x, y, series, band }: Lines): string {
  const [left, right, top, bottom] = [60, WIDTH - 20, 66, 346];
  const across = scale(x, left, right);
  const up = scale(y, bottom, top);
  const parts = [heading(title), legend(series.map(({ name }) => name))];
  if (band !== undefined) {
    const width = across(band.to) - across(band.from);
    parts.push(
      `<rect x="${round(across(band.from))}" y="${top}" width="${round(width)}" height="${bottom - top}" fill="#f3ead9"/>`,
      text(across(band.from) + width / 2, top + 14, band.label, 'middle'),
    );
  }
  for (const tick of ticksOf(y)) {
    parts.push(line([left, up(tick)], [right, up(tick)], FAINT));
    parts.push(text(left - 8, up(tick) + 4, y.format(tick), 'end'));
  }
  for (const tick of ticksOf(x)) {
    parts.push(text(across(tick), bottom + 18, x.format(tick), 'middle'));
  }
  parts.push(text((left + right) / 2, bottom + 38, x.label, 'middle'));
  series.forEach(({ points }, i) => {
    let isOpen = false;
    const path = points.map(([at, value]) => {
      if (value === null) {
        isOpen = false;
        return '';
      }
      const command = isOpen ? 'L' : 'M';
      isOpen = true;
      return `${command}${round(across(at))} ${round(up(value))}`;
    });
    parts.push(
      `<path d="${path.join('')}" fill="none" stroke="${colour(i)}" stroke-width="2" stroke-linejoin="round"/>`,
    );
  });
  return document(title, bottom + 50, parts);
}

function scale(axis: Axis, from: number, to: number): (value: number) => number {
  const place = (value: number): number => (axis.isLog === true ? Math.log(value) : value);
  const [low, high] = [place(axis.least), place(axis.most)];
  return (value) => {
    const held = Math.min(Math.max(value, axis.least), axis.most);
    return from + ((place(held) - low) / (high - low)) * (to - from);
  };
}

/** Round values of an axis: 1, 2, 5 steps, or powers of ten. */
export function ticksOf({ least, most, isLog }: Axis): number[] {
  const ticks: number[] = [];
  if (isLog === true) {
    for (let tick = 10 ** Math.ceil(Math.log10(least)); tick <= most; tick *= 10) ticks.push(tick);
    return ticks;
  }
  const rough = (most - least) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10);
  for (let i = Math.ceil(least / step); i * step <= most * (1 + 1e-9); i += 1) ticks.push(i * step);
  return ticks;
}

function document(title: string, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${round(height)}" width="${WIDTH}" height="${round(height)}" role="img" aria-label="${escaped(title)}">`,
    // Pages may be dark; the ink is not.
    `<rect width="${WIDTH}" height="${round(height)}" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function heading(title: string): string {
  return `<text x="20" y="24" ${FONT} font-size="15" font-weight="600" fill="${INK}">${escaped(title)}</text>`;
}

function legend(names: readonly string[]): string {
  let x = 20;
  return names
    .map((name, i) => {
      const at = x;
      x += 30 + name.length * 7;
      return `<rect x="${at}" y="37" width="11" height="11" fill="${colour(i)}"/>${text(at + 16, 47, name, 'start')}`;
    })
    .join('\n');
}

function text(
  x: number,
  y: number,
  content: string,
  anchor: 'start' | 'middle' | 'end',
  size = 12,
): string {
  return `<text x="${round(x)}" y="${round(y)}" ${FONT} font-size="${size}" text-anchor="${anchor}" fill="${INK}">${escaped(content)}</text>`;
}

function line(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  stroke: string,
): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}"/>`;
}

function colour(index: number): string {
  return PALETTE[index % PALETTE.length]!;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
