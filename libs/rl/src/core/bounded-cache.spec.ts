import { BoundedCache } from './bounded-cache';

describe('BoundedCache', () => {
  it('never holds more than its capacity, and keeps what is used', () => {
    const cache = new BoundedCache<number, string>(8);
    cache.set(-1, 'used');
    for (let key = 0; key < 100; key++) {
      cache.set(key, String(key));
      expect(cache.get(-1)).toBe('used');
      expect(cache.get(key)).toBe(String(key));
      expect(cache.size).toBeLessThanOrEqual(8);
    }
    expect(cache.get(0)).toBeUndefined();
    cache.clear();
    expect(cache.size).toBe(0);
  });
});
