import {
  type CounterCell,
  type GaugeCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type MetricSpec,
} from '@smg/plugin-api';
import { COUNTER_FORM, GAUGE_FORM, histogramForm } from './cell-forms';
import { DURATION_BUCKETS } from './duration-buckets';
import { CellFamily, type CellForm, type RenderableFamily } from './metric-family';

/** What a {@link MetricStore} may be told. */
export interface MetricStoreOptions {
  /** Seconds, ascending. */
  readonly durationBuckets?: readonly number[] | undefined;
  /** A refresher threw; the scrape goes on with the values there are. */
  readonly onRefreshError?: (error: unknown) => void;
}

/** Registry of own cells; a series exists from its first `cell` call, not before. */
export class MetricStore implements Metrics {
  private readonly families = new Map<string, RenderableFamily>();
  private readonly refreshers: (() => void)[] = [];
  private readonly durationBuckets: readonly number[];
  private readonly onRefreshError: (error: unknown) => void;

  /** @throws Error when the buckets are not ascending. */
  constructor(options: MetricStoreOptions = {}) {
    this.durationBuckets = options.durationBuckets ?? DURATION_BUCKETS;
    this.onRefreshError = options.onRefreshError ?? (() => undefined);
    histogramForm(this.durationBuckets);
  }

  counter(spec: MetricSpec): MetricFamily<CounterCell> {
    return this.register(spec, COUNTER_FORM);
  }

  gauge(spec: MetricSpec): MetricFamily<GaugeCell> {
    return this.register(spec, GAUGE_FORM);
  }

  histogram(
    spec: MetricSpec & { readonly buckets?: readonly number[] },
  ): MetricFamily<HistogramCell> {
    return this.register(spec, histogramForm(spec.buckets ?? this.durationBuckets));
  }

  onCollect(refresh: () => void): void {
    this.refreshers.push(refresh);
  }

  /** Series held now. */
  get seriesCount(): number {
    let count = 0;
    for (const family of this.families.values()) count += family.size;
    return count;
  }

  /** The exposition text in small pieces, after the refreshers ran; the caller paces it. */
  *render(): Generator<string> {
    for (const refresh of this.refreshers) {
      try {
        refresh();
      } catch (error) {
        this.onRefreshError(error);
      }
    }
    for (const family of this.families.values()) yield* family.render();
  }

  private register<Cell>(spec: MetricSpec, form: CellForm<Cell>): MetricFamily<Cell> {
    const known = this.families.get(spec.name);
    if (known === undefined) {
      const family = new CellFamily(spec, form);
      this.families.set(spec.name, family);
      return family;
    }
    const labels = spec.labels ?? [];
    const sameLabels =
      labels.length === known.labels.length &&
      labels.every((label, index) => label === known.labels[index]);
    if (known.kind !== form.kind || !sameLabels) {
      throw new Error(
        `metric ${spec.name} is already registered as a ${known.kind} with labels (${known.labels.join(', ')})`,
      );
    }
    // The kind names the cell type, so the stored family is one of the same cells.
    return known as unknown as MetricFamily<Cell>;
  }
}
