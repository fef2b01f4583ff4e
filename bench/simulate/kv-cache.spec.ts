import fc from 'fast-check';
import { KvCache, type Pinned } from './kv-cache';
import { type Segment } from './prompt';

const path = (...ids: number[]): Segment[] => ids.map((id) => ({ id, tokens: 10 }));

describe('KvCache', () => {
  it('matches the beginning that is there and no more', () => {
    const cache = new KvCache(100);
    cache.release(cache.pin(path(1, 2, 3)));
    expect(cache.match(path(1, 2, 9))).toBe(20);
    expect(cache.match(path(2, 3))).toBe(20);
    expect(cache.match(path(9, 1))).toBe(0);
  });

  it('evicts the least recently used prompt, its end before its beginning', () => {
    const cache = new KvCache(50);
    cache.release(cache.pin(path(1, 2, 3)));
    cache.release(cache.pin(path(4, 5)));
    cache.release(cache.pin(path(6)));
    expect(cache.match(path(1, 2, 3))).toBe(20);
    expect(cache.match(path(4, 5))).toBe(20);
    cache.release(cache.pin(path(1)));
    cache.release(cache.pin(path(7)));
    expect(cache.match(path(1, 2))).toBe(10);
  });

  it('keeps what runs, whatever comes', () => {
    const cache = new KvCache(30);
    const pinned = cache.pin(path(1, 2));
    expect(cache.fits(path(3))).toBe(true);
    expect(cache.fits(path(3, 4))).toBe(false);
    expect(cache.fits(path(1, 2, 3))).toBe(true);
    cache.release(cache.pin(path(3)));
    cache.release(cache.pin(path(4)));
    expect(cache.match(path(1, 2))).toBe(20);
    expect(cache.match(path(3))).toBe(0);
    cache.release(pinned);
  });

  it('takes a request that is larger than it when nothing else runs', () => {
    const cache = new KvCache(5);
    expect(cache.fits(path(1))).toBe(true);
    cache.release(cache.pin(path(1)));
    expect(cache.size).toBe(0);
  });

  it('forgets everything at a flush, and gives the room of what runs back when it ends', () => {
    const cache = new KvCache(100);
    cache.release(cache.pin(path(1)));
    const pinned = cache.pin(path(2));
    cache.flush();
    expect(cache.match(path(1))).toBe(0);
    expect(cache.match(path(2))).toBe(0);
    expect(cache.size).toBe(10);
    const again = cache.pin(path(2));
    cache.release(pinned);
    expect(cache.match(path(2))).toBe(10);
    cache.release(again);
    expect(cache.size).toBe(10);
    expect(cache.usage).toBe(0);
  });

  it('never holds more than its capacity but for what runs, and leaks nothing', () => {
    const action = fc.oneof(
      fc.record({ pin: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }) }),
      fc.record({ release: fc.nat(9) }),
      fc.constant('flush' as const),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const cache = new KvCache(60);
        const open: Pinned[] = [];
        for (const one of actions) {
          if (one === 'flush') cache.flush();
          else if ('pin' in one) {
            const segments = path(...new Set(one.pin));
            if (cache.fits(segments)) open.push(cache.pin(segments));
          } else cache.release(open.splice(one.release, 1)[0] ?? []);
          expect(cache.size).toBeLessThanOrEqual(60);
        }
        for (const pinned of open) cache.release(pinned);
        cache.flush();
        expect([cache.size, cache.usage]).toEqual([0, 0]);
      }),
    );
  });
});
