import { type MetricFamily, type MetricSpec } from '@smg/plugin-api';
import { assertExposable, type MetricKind, renderHead, renderLabels } from './exposition';
import { LabelCap } from './label-cap';

interface Series<Cell> {
  readonly values: readonly string[];
  readonly cell: Cell;
  /** Text before the value, made once: names and labels do not change. */
  readonly lines: readonly string[];
}

/** How one kind of cell looks on the wire. */
export interface CellForm<Cell> {
  readonly kind: MetricKind;
  create(): Cell;
  /** The text before each value, in the order `render` fills them in. */
  prefixes(name: string, labels: string): readonly string[];
  render(cell: Cell, lines: readonly string[]): string;
}

/** What the store needs of a family whatever its cells are. */
export interface RenderableFamily {
  readonly kind: MetricKind;
  readonly labels: readonly string[];
  readonly size: number;
  /** One string for the head and one per series. */
  render(): Generator<string>;
}

const MODEL = 'model';

/** Cells of one metric by label values. */
export class CellFamily<Cell> implements MetricFamily<Cell>, RenderableFamily {
  readonly kind: MetricKind;
  readonly labels: readonly string[];
  private readonly series = new Map<string, Series<Cell>>();
  private readonly modelIndex: number;
  private readonly models = new LabelCap();

  /** @throws Error when a name cannot be exposed. */
  constructor(
    private readonly spec: MetricSpec,
    private readonly form: CellForm<Cell>,
  ) {
    this.kind = form.kind;
    this.labels = Object.freeze([...(spec.labels ?? [])]);
    this.modelIndex = this.labels.indexOf(MODEL);
    assertExposable(spec.name, this.labels, form.kind);
  }

  get size(): number {
    return this.series.size;
  }

  cell(...values: string[]): Cell {
    if (values.length !== this.labels.length) {
      throw new Error(
        `metric ${this.spec.name}: ${values.length} label values for ${this.labels.length} labels (${this.labels.join(', ')})`,
      );
    }
    const index = this.modelIndex;
    if (index >= 0) values[index] = this.models.admit(values[index] ?? '');
    const key = keyOf(values);
    const known = this.series.get(key);
    if (known !== undefined) return known.cell;
    const cell = this.form.create();
    const lines = this.form.prefixes(this.spec.name, renderLabels(this.labels, values));
    this.series.set(key, { values, cell, lines });
    return cell;
  }

  forget(label: string, value: string): void {
    const index = this.labels.indexOf(label);
    if (index < 0) throw new Error(`metric ${this.spec.name} has no label ${label}`);
    for (const [key, series] of this.series) {
      if (series.values[index] === value) this.series.delete(key);
    }
    if (index === this.modelIndex) this.models.release(value);
  }

  *render(): Generator<string> {
    if (this.series.size === 0) return;
    yield renderHead(this.spec.name, this.spec.help, this.kind);
    // A copy: a page yields to the loop between its slices, and what another scrape takes away and
    // puts back meanwhile would be met twice, which makes a page invalid.
    for (const series of [...this.series.values()]) {
      yield this.form.render(series.cell, series.lines);
    }
  }
}

function keyOf(values: readonly string[]): string {
  if (values.length === 0) return '';
  if (values.length === 1) return values[0] ?? '';
  // Lengths make the key unambiguous whatever the values contain.
  let key = '';
  for (const value of values) key += `${value.length}:${value}`;
  return key;
}
