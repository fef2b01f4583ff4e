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
const SAMPLE =
  /^([a-zA-Z_:][\w:]*)(?:\s*\{(.*)\}\s*|\s+)([+-]?[\w.]+(?:[eE][+-]\d+)?)(?:\s+(-?\d+))?$/;
const EXEMPLAR = /\s+#\s+\{.*$/;
const META = /^#\s+(HELP|TYPE)\s+([a-zA-Z_:][\w:]*)(?:\s+(.*))?$/;
const LABEL = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/y;
const ESCAPED = /\\(.)/g;

/** @returns undefined when the line is no exposition. */
export function readExpositionLine(line: string): ExpositionLine | undefined {
  if (line.length > MAX_LINE) return undefined;
  if (line.startsWith('#')) return readComment(line);
  const match = SAMPLE.exec(line) ?? SAMPLE.exec(line.replace(EXEMPLAR, ''));
  if (match === null) return undefined;
  const [, name = '', inner, number = '', timestamp] = match;
  const value = readNumber(number);
  const labels = inner === undefined ? NO_LABELS : readLabels(inner);
  if (value === undefined || labels === undefined) return undefined;
  return { kind: 'sample', sample: { name, labels, value, timestamp } };
}

const NO_LABELS: readonly LabelPair[] = [];

function readComment(line: string): ExpositionLine {
  const match = META.exec(line);
  if (match === null) return { kind: 'comment' };
  const [, kind, name = '', text = ''] = match;
  return { kind: kind === 'HELP' ? 'help' : 'type', name, text };
}

function readLabels(inner: string): readonly LabelPair[] | undefined {
  const labels: LabelPair[] = [];
  LABEL.lastIndex = 0;
  while (inner.slice(LABEL.lastIndex).trim() !== '') {
    const match = LABEL.exec(inner);
    if (match === null) return undefined;
    const [, name = '', value = ''] = match;
    labels.push([name, value.includes('\\') ? unescaped(value) : value]);
  }
  return labels;
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
