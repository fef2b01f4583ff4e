import { type CounterCell, type GaugeCell, type HistogramCell } from '@smg/plugin-api';

/** Cells are plain objects: an increment is one addition, and rendering reads the fields. */

export class Counter implements CounterCell {
  value = 0;

  inc(by = 1): void {
    // A counter never falls; NaN and negative amounts are ignored rather than poisoning the series.
    if (by > 0) this.value += by;
  }
}

export class Gauge implements GaugeCell {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }
}

export class Histogram implements HistogramCell {
  /** Observations per bucket, not cumulative; the last slot is +Inf. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(private readonly bounds: Float64Array) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    if (Number.isNaN(value)) return;
    const { bounds, counts } = this;
    // First bound that is >= value; bucket bounds are inclusive.
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((bounds[middle] ?? Infinity) < value) low = middle + 1;
      else high = middle;
    }
    counts[low] = (counts[low] ?? 0) + 1;
    this.sum += value;
  }
}
