/** A running total of one label combination. */
export interface CounterCell {
  /** @param by >= 0; 1 when left out. */
  inc(by?: number): void;
}

/** A value that goes up and down. */
export interface GaugeCell {
  set(value: number): void;
  inc(by?: number): void;
  dec(by?: number): void;
}

/** A distribution. */
export interface HistogramCell {
  /** In the unit of the metric's name, usually seconds. */
  observe(value: number): void;
}

/** What a metric is; the first registration of a name decides. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  /** Names of the labels, in the order `cell` takes their values. */
  readonly labels?: readonly string[];
}

/** Cells of one metric. A series exists from its first `cell` call, not before. */
export interface MetricFamily<Cell> {
  /** The cell of these label values; the same object each time, so callers on a hot path keep it. */
  cell(...values: string[]): Cell;
  /** Drops every series whose label `label` has `value`; a later `cell` starts anew. */
  forget(label: string, value: string): void;
}

/** Registers and hands out metrics. Asking twice for a name gives the same family. Token: {@link METRICS}. */
export interface Metrics {
  counter(spec: MetricSpec): MetricFamily<CounterCell>;
  gauge(spec: MetricSpec): MetricFamily<GaugeCell>;
  /** Buckets default to the configured duration buckets. */
  histogram(
    spec: MetricSpec & { readonly buckets?: readonly number[] },
  ): MetricFamily<HistogramCell>;
  /** Runs before every scrape, to refresh gauges that are cheaper to read than to keep. */
  onCollect(refresh: () => void): void;
}

/** Service token of {@link Metrics}; provided globally by ObservabilityModule. */
export const METRICS = 'smg:metrics';
