import fc from 'fast-check';
import { InFlightAges } from './in-flight-ages';

describe('InFlightAges', () => {
  it('holds nothing once everything finished, however far off the callers measured', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 1e8 }), fc.integer({ min: -5e4, max: 5e4 }))),
        (requests) => {
          const ages = new InFlightAges();
          for (const [start] of requests) ages.started(start);
          for (const [start, error] of requests) ages.finished(start + error);
          return ages.total === 0 && ages.histogram(2e8).every((count) => count === 0);
        },
      ),
    );
  });

  it('takes the right one when the measurements are exact', () => {
    const ages = new InFlightAges();
    ages.started(1000);
    ages.started(500_000);
    ages.finished(500_000);
    expect(ages.histogram(1000 + 200_000)).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('ignores a finish without a start', () => {
    const ages = new InFlightAges();
    ages.finished(1);
    expect(ages.total).toBe(0);
  });
});
