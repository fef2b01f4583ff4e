import {
  type CounterCell,
  type GaugeCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type MetricSpec,
} from '@smg/plugin-api';

type Cell = CounterCell & GaugeCell & HistogramCell;

class FakeCell implements Cell {
  value = 0;
  readonly observations: number[] = [];

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }

  set(value: number): void {
    this.value = value;
  }

  observe(value: number): void {
    this.observations.push(value);
  }
}

class FakeFamily implements MetricFamily<Cell> {
  readonly cells = new Map<string, FakeCell>();

  constructor(readonly spec: MetricSpec) {}

  cell(...values: string[]): FakeCell {
    const labels = this.spec.labels ?? [];
    if (values.length !== labels.length) {
      throw new Error(
        `${this.spec.name} takes ${labels.length} label values, got ${values.length}`,
      );
    }
    const key = JSON.stringify(values);
    let cell = this.cells.get(key);
    if (cell === undefined) {
      cell = new FakeCell();
      this.cells.set(key, cell);
    }
    return cell;
  }

  forget(label: string, value: string): void {
    const at = (this.spec.labels ?? []).indexOf(label);
    for (const key of [...this.cells.keys()]) {
      if ((JSON.parse(key) as string[])[at] === value) this.cells.delete(key);
    }
  }
}

/** {@link Metrics} that a test can read back. */
export class FakeMetrics implements Metrics {
  private readonly families = new Map<string, FakeFamily>();
  private readonly refreshers: (() => void)[] = [];

  counter(spec: MetricSpec): MetricFamily<CounterCell> {
    return this.family(spec);
  }

  gauge(spec: MetricSpec): MetricFamily<GaugeCell> {
    return this.family(spec);
  }

  histogram(spec: MetricSpec): MetricFamily<HistogramCell> {
    return this.family(spec);
  }

  onCollect(refresh: () => void): void {
    this.refreshers.push(refresh);
  }

  /** What a scrape would trigger. */
  collect(): void {
    for (const refresh of this.refreshers) refresh();
  }

  /** Value of a counter or gauge; undefined while the series does not exist. */
  value(name: string, ...labelValues: string[]): number | undefined {
    return this.families.get(name)?.cells.get(JSON.stringify(labelValues))?.value;
  }

  /** What a histogram saw, in order. */
  observations(name: string, ...labelValues: string[]): readonly number[] {
    return this.families.get(name)?.cells.get(JSON.stringify(labelValues))?.observations ?? [];
  }

  /** Label values of every existing series of a metric, in order of creation. */
  series(name: string): readonly (readonly string[])[] {
    const family = this.families.get(name);
    return family === undefined
      ? []
      : [...family.cells.keys()].map((k) => JSON.parse(k) as string[]);
  }

  /** Names of every registered metric. */
  names(): readonly string[] {
    return [...this.families.keys()];
  }

  private family(spec: MetricSpec): FakeFamily {
    let family = this.families.get(spec.name);
    if (family === undefined) {
      family = new FakeFamily(spec);
      this.families.set(spec.name, family);
    }
    return family;
  }
}
