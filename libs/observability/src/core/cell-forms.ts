import { renderNumber } from './exposition';
import { type CellForm } from './metric-family';
import { Counter, Gauge, Histogram } from './metric-cells';

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

function scalar<Cell extends { value: number }>(
  kind: 'counter' | 'gauge',
  create: () => Cell,
): CellForm<Cell> {
  return {
    kind,
    create,
    prefixes: (name, labels) => [`${name}${braced(labels)} `],
    render: (cell, lines) => `${lines[0] ?? ''}${renderNumber(cell.value)}\n`,
  };
}

export const COUNTER_FORM: CellForm<Counter> = scalar('counter', () => new Counter());
export const GAUGE_FORM: CellForm<Gauge> = scalar('gauge', () => new Gauge());

/** @throws Error unless the bounds are finite and ascending. */
export function histogramForm(buckets: readonly number[]): CellForm<Histogram> {
  let previous = -Infinity;
  for (const bound of buckets) {
    if (!Number.isFinite(bound) || bound <= previous) {
      throw new Error('histogram buckets must be finite numbers in ascending order');
    }
    previous = bound;
  }
  const bounds = Float64Array.from(buckets);
  const les = [...buckets.map((bound) => renderNumber(bound)), '+Inf'];
  return {
    kind: 'histogram',
    create: () => new Histogram(bounds),
    prefixes(name, labels) {
      const lead = labels === '' ? '' : `${labels},`;
      return [
        ...les.map((le) => `${name}_bucket{${lead}le="${le}"} `),
        `${name}_sum${braced(labels)} `,
        `${name}_count${braced(labels)} `,
      ];
    },
    render(cell, lines) {
      let text = '';
      let total = 0;
      const buckets = cell.counts.length;
      for (let index = 0; index < buckets; index++) {
        total += cell.counts[index] ?? 0;
        text += `${lines[index] ?? ''}${total}\n`;
      }
      return `${text}${lines[buckets] ?? ''}${renderNumber(cell.sum)}\n${lines[buckets + 1] ?? ''}${total}\n`;
    },
  };
}
