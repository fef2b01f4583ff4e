import * as fc from 'fast-check';
import { Histogram } from './histogram';

describe('Histogram', () => {
  it('answers NaN for quantiles when nothing was recorded', () => {
    expect(new Histogram().quantile(0.5)).toBeNaN();
  });

  it('keeps quantiles within one bucket of the exact ones, over all bands', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 29_000_000 }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.9, 0.99, 1),
        (samples, q) => {
          const histogram = new Histogram();
          for (const sample of samples) histogram.record(sample);
          const sorted = [...samples].sort((a, b) => a - b);
          const exactUs = sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!;
          const widthUs = exactUs < 10_000 ? 1 : exactUs < 200_000 ? 20 : 10_000;
          const error = histogram.quantile(q) * 1000 - exactUs;
          expect(error).toBeGreaterThanOrEqual(-0.001);
          expect(error).toBeLessThanOrEqual(widthUs + 0.001);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('puts values beyond the last band and clock steps backwards into the end buckets', () => {
    const histogram = new Histogram();
    histogram.record(-5);
    histogram.record(99_000_000);
    expect(histogram.quantile(0.5)).toBeLessThanOrEqual(0.001);
    expect(histogram.summary()).toMatchObject({ count: 2, max: 99_000 });
  });
});
