/** Prometheus text format 0.0.4: names, escapes and numbers. */

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** @throws Error when a metric could not be exposed under these names. */
export function assertExposable(name: string, labels: readonly string[], kind: MetricKind): void {
  if (!NAME.test(name)) throw new Error(`metric ${JSON.stringify(name)}: not a metric name`);
  for (const label of labels) {
    if (!LABEL.test(label) || label.startsWith('__') || isBucketLabel(label, kind)) {
      throw new Error(`metric ${name}: ${JSON.stringify(label)} cannot be a label`);
    }
  }
}

/** A histogram needs `le` for its own bounds. */
const isBucketLabel = (label: string, kind: MetricKind): boolean =>
  kind === 'histogram' && label === 'le';

const escapeHelp = (text: string): string => text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');

/** Whether a label value holds none of the three characters the format escapes. */
const PLAIN = /^[^\\"\n]*$/;

function escapeValue(value: string): string {
  if (PLAIN.test(value)) return value;
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

/** `a="1",b="2"`, without braces; empty without labels. */
export function renderLabels(names: readonly string[], values: readonly string[]): string {
  let text = '';
  for (let index = 0; index < names.length; index++) {
    if (index > 0) text += ',';
    text += `${names[index] ?? ''}="${escapeValue(values[index] ?? '')}"`;
  }
  return text;
}

export function renderNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

export type MetricKind = 'counter' | 'gauge' | 'histogram';

export function renderHead(name: string, help: string, kind: MetricKind): string {
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n`;
}
