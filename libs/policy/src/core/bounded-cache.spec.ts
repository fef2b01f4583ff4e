import { BoundedCache } from './bounded-cache';

describe('BoundedCache', () => {
  it('never holds more than its capacity', () => {
    const cache = new BoundedCache<number, number>(8);
    for (let i = 0; i < 100; i++) {
      cache.set(i, i);
      cache.get(i - 3);
      expect(cache.size).toBeLessThanOrEqual(8);
    }
  });

  it('keeps what is used while others pass through', () => {
    const cache = new BoundedCache<string, number>(8);
    cache.set('hot', 1);
    for (let i = 0; i < 100; i++) {
      cache.set(`cold${i}`, i);
      expect(cache.get('hot')).toBe(1);
    }
  });
});
