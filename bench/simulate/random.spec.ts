import { meanOf } from './statistics';
import { Random, Zipf } from './random';

const DRAWS = 20_000;

function draws(draw: (random: Random) => number): number[] {
  const random = new Random(5);
  return Array.from({ length: DRAWS }, () => draw(random));
}

describe('Random', () => {
  it('gives the same numbers for a seed, and others for another', () => {
    const first = (seed: number): number[] => {
      const random = new Random(seed);
      return [random.next(), random.next(), random.next()];
    };
    expect(first(1)).toEqual(first(1));
    expect(first(1)).not.toEqual(first(2));
  });

  it('is uniform in [0, 1)', () => {
    const values = draws((random) => random.next());
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const inside = values.filter((value) => Math.floor(value * 10) === tenth).length;
      expect(inside / DRAWS).toBeCloseTo(0.1, 1);
    }
  });

  it('has the means it was asked for', () => {
    expect(meanOf(draws((random) => random.exponential(7))) / 7).toBeCloseTo(1, 1);
    expect(meanOf(draws((random) => random.between(10, 20))) / 15).toBeCloseTo(1, 1);
    const logs = draws((random) => Math.log(random.logNormal(100, 1)));
    expect(meanOf(logs) / Math.log(100)).toBeCloseTo(1, 1);
  });
});

describe('Zipf', () => {
  it('draws rank r about 1/(r + 1) times as often as rank 0', () => {
    const zipf = new Zipf(10, 1);
    const counts = new Array<number>(10).fill(0);
    for (const rank of draws((random) => zipf.draw(random))) counts[rank]! += 1;
    expect(counts[0]! / counts[1]!).toBeCloseTo(2, 0);
    expect(counts[0]! / counts[9]!).toBeGreaterThan(8);
    expect(counts.every((count) => count > 0)).toBe(true);
  });

  it('knows its mean', () => {
    expect(new Zipf(2, 1).mean).toBeCloseTo((1 + 2 * 0.5) / 1.5);
  });
});
