import { median, minimum, ratio, shuffled } from './statistics';

describe('statistics', () => {
  it('leaves out rounds that could not be measured', () => {
    expect(median([3, Number.NaN, 1, 2])).toBe(2);
    expect(median([4, 1])).toBe(2.5);
    expect(minimum([Number.NaN, 3, 2])).toBe(2);
    expect(median([Number.NaN])).toBeNaN();
    expect(minimum([])).toBeNaN();
  });

  it('compares within a round, so noise that slows a whole round cancels out', () => {
    const result = ratio([30, 300, 33], [10, 100, 11]);
    expect(result.median).toBeCloseTo(3);
    expect(result.ofMinima).toBeCloseTo(3);
  });

  it('has no ratio without a baseline', () => {
    expect(ratio([1, 2], []).median).toBeNaN();
  });

  it('shuffles without losing anyone', () => {
    const values = [0.9, 0.1, 0.5];
    let at = 0;
    const order = shuffled(['a', 'b', 'c', 'd'], () => values[at++ % values.length]!);
    expect([...order].sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(order).not.toEqual(['a', 'b', 'c', 'd']);
  });
});
