/** Prometheus text, format 0.0.4, as engines write it; what OpenMetrics adds to a line is passed over. */

export type LabelPair = readonly [name: string, value: string];

export interface Sample {
  readonly name: string;
  readonly labels: readonly LabelPair[];
  readonly value: number;
  /** Milliseconds, as written. */
  readonly timestamp: string | undefined;
}

/** One line that is not empty. */
export type ExpositionLine =
  | { readonly kind: 'sample'; readonly sample: Sample }
  | { readonly kind: 'help' | 'type'; readonly name: string; readonly text: string }
  | { readonly kind: 'comment' };

/** Longer lines are not metrics of an engine. */
const MAX_LINE = 65_536;
const META = /^#\s+(HELP|TYPE)\s+([a-zA-Z_:][\w:]*)(?:\s(.*))?$/;
// Sticky, one token each: a line is read in one pass, whatever it holds.
const NAME = /[a-zA-Z_:][\w:]*/y;
const LABEL = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*/y;
const BLANK = /\s*/y;
const ESCAPED = /\\(.)/g;

/** @returns undefined when the line is no exposition. */
export function readExpositionLine(line: string): ExpositionLine | undefined {
  if (line.length > MAX_LINE) return undefined;
  if (line.startsWith('#')) return readComment(line);
  const name = match(NAME, line, 0)?.[0];
  if (name === undefined) return undefined;
  const labels: LabelPair[] = [];
  const at = readLabels(line, name.length, labels);
  const [number = '', timestamp, rest] = line.slice(at).trim().split(/\s+/, 3);
  const value = at === -1 ? undefined : readNumber(number);
  const isStamped = timestamp !== undefined && /^-?\d+$/.test(timestamp);
  // What follows is an exemplar or nothing.
  const after = isStamped ? rest : timestamp;
  if (value === undefined || (after !== undefined && after !== '#')) return undefined;
  return {
    kind: 'sample',
    sample: { name, labels, value, timestamp: isStamped ? timestamp : undefined },
  };
}

function readComment(line: string): ExpositionLine {
  const [, kind, name = '', text = ''] = META.exec(line) ?? [];
  if (kind === undefined) return { kind: 'comment' };
  return { kind: kind === 'HELP' ? 'help' : 'type', name, text: text.trim() };
}

/** @returns where the value begins; -1 when the labels cannot be read, or nothing sets the value apart. */
function readLabels(line: string, from: number, labels: LabelPair[]): number {
  const blank = match(BLANK, line, from)?.[0].length ?? 0;
  let at = from + blank;
  if (line[at] !== '{') return blank > 0 ? at : -1;
  at++;
  for (;;) {
    const label = match(LABEL, line, at);
    if (label === null) break;
    const [whole, name = '', value = ''] = label;
    labels.push([name, value.includes('\\') ? unescaped(value) : value]);
    at += whole.length;
    if (line[at] !== ',') break;
    at++;
  }
  at += match(BLANK, line, at)?.[0].length ?? 0;
  return line[at] === '}' ? at + 1 : -1;
}

function match(sticky: RegExp, line: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(line);
}

const unescaped = (value: string): string =>
  value.replace(ESCAPED, (_, char: string) => (char === 'n' ? '\n' : char));

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function readNumber(text: string): number | undefined {
  if (DECIMAL.test(text)) return Number(text);
  switch (text.toLowerCase()) {
    case '+inf':
    case 'inf':
      return Number.POSITIVE_INFINITY;
    case '-inf':
      return Number.NEGATIVE_INFINITY;
    case 'nan':
      return Number.NaN;
    default:
      return undefined;
  }
}

/** Lines of a text that are not empty, without its copy. */
export function* linesOf(text: string): Generator<string, void> {
  let from = 0;
  while (from < text.length) {
    const found = text.indexOf('\n', from);
    const to = found === -1 ? text.length : found;
    const line = text.slice(from, to).trim();
    if (line !== '') yield line;
    from = to + 1;
  }
}
