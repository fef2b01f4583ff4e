import { KeyRing } from './api-key';

const ringOf = (...keys: string[]): KeyRing<string> => {
  const ring = new KeyRing<string>();
  for (const key of keys) ring.add(key, `owner of ${key}`);
  return ring;
};

describe('KeyRing', () => {
  it('finds the owner of each key and of nothing else', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`);
    const ring = ringOf(...keys);
    expect(ring.size).toBe(100);
    for (const key of keys) expect(ring.find(key)).toBe(`owner of ${key}`);
    for (const key of ['', 'key-', 'key-100', 'KEY-1', 'key-1 ', '\u016bey-1']) {
      expect(ring.find(key)).toBeUndefined();
    }
    expect(ringOf().find('key-1')).toBeUndefined();
  });

  it('compares the bytes a header brings', () => {
    expect(ringOf('é').find('\u00c3\u00a9')).toBe('owner of é');
    expect(ringOf('é').find('é')).toBeUndefined();
  });

  it('does not cost a millisecond, however many there are', () => {
    const ring = ringOf(...Array.from({ length: 10_000 }, (_, i) => `key-${i}`));
    const times = Array.from({ length: 50 }, (_, i) => {
      const startedAt = performance.now();
      ring.find(`stranger-${i}`);
      return performance.now() - startedAt;
    });
    // The best of many: what a busy machine adds is not the ring's.
    expect(Math.min(...times)).toBeLessThan(0.5);
  });
});
