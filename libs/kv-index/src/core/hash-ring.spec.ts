import fc from 'fast-check';
import { createHashes, type Hashes } from './hashes';
import { HashRing, ringPositionOf } from './hash-ring';

const any = () => true;
const isNot = (url: string, other: string) => url !== other;
const urlOf = (i: number) => `http://10.0.0.${i}:8000`;
const KEYS = Array.from({ length: 2_000 }, (_, i) => `conversation-${i}`);

describe('HashRing', () => {
  let hashes: Hashes;
  beforeAll(async () => {
    hashes = await createHashes();
  });

  /** Positions that agree in their upper halves, so that the lower ones decide. */
  const coarse = () => ({
    blake3Prefix64: (data: Uint8Array | string) => {
      const { high, low } = hashes.blake3Prefix64(data);
      return { high: high % 3, low };
    },
  });

  function ringOf(urls: readonly string[]) {
    const ring = new HashRing(hashes);
    for (const url of urls) ring.add(url);
    return ring;
  }

  /** The law by bigint: the first point at or after the key, in a sorted list of all of them. */
  function naiveOrder(
    urls: readonly string[],
    key: string,
    by: Pick<Hashes, 'blake3Prefix64'> = hashes,
  ) {
    const numberOf = (text: string) => {
      const { high, low } = by.blake3Prefix64(text);
      return (BigInt(high) << 32n) | BigInt(low);
    };
    const points = urls.flatMap((url) =>
      Array.from({ length: 150 }, (_, i) => ({ at: numberOf(`${url}#${i}`), url })),
    );
    points.sort((a, b) => (a.at < b.at ? -1 : 1));
    const start = points.findIndex((point) => point.at >= numberOf(key));
    const order = start < 0 ? points : [...points.slice(start), ...points.slice(0, start)];
    return [...new Set(order.map((point) => point.url))];
  }

  it('asks about each URL once, clockwise from the key, whatever came and went before', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.nat(7)), { maxLength: 24 }),
        fc.string(),
        fc.boolean(),
        (changes, key, isCoarse) => {
          const by = isCoarse ? coarse() : hashes;
          const ring = new HashRing(by);
          const members = new Set<string>();
          for (const [isAdded, i] of changes) {
            const url = urlOf(i);
            expect(isAdded ? ring.add(url) : ring.remove(url)).toBe(isAdded !== members.has(url));
            if (isAdded) members.add(url);
            else members.delete(url);
          }
          expect(ring.size).toBe(members.size);
          const asked: string[] = [];
          const found = ring.find(
            key,
            (url, list) => {
              list.push(url);
              return false;
            },
            asked,
          );
          expect(found).toBeUndefined();
          expect(asked).toEqual(naiveOrder([...members], key, by));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('places keys where every gateway of a fleet places them', () => {
    expect(ringPositionOf(hashes, '')).toEqual({ high: 0xa6a1_f9f5, low: 0xb949_13af });
  });

  it('moves only the keys of a URL that went, and moves them back when it returns', () => {
    const urls = Array.from({ length: 10 }, (_, i) => urlOf(i));
    const ring = ringOf(urls);
    const before = KEYS.map((key) => ring.find(key, any, undefined));
    ring.remove(urls[3]!);
    KEYS.forEach((key, i) => {
      const now = ring.find(key, any, undefined);
      if (before[i] === urls[3]) expect(now).not.toBe(urls[3]);
      else expect(now).toBe(before[i]);
    });
    ring.add(urls[3]!);
    expect(KEYS.map((key) => ring.find(key, any, undefined))).toEqual(before);
  });

  it('moves to a new URL about its share of the keys, and none elsewhere', () => {
    for (const size of [3, 10, 30]) {
      const ring = ringOf(Array.from({ length: size }, (_, i) => urlOf(i)));
      const before = KEYS.map((key) => ring.find(key, any, undefined));
      ring.add('http://new:8000');
      let moved = 0;
      KEYS.forEach((key, i) => {
        const now = ring.find(key, any, undefined);
        if (now === before[i]) return;
        expect(now).toBe('http://new:8000');
        moved++;
      });
      expect(moved).toBeGreaterThan(0);
      // 150 points spread a share by some 8 % of itself; 2,000 keys add as much again.
      expect(moved / KEYS.length).toBeLessThan(1.4 / (size + 1));
    }
  });

  it('answers the next URL when the first is not accepted', () => {
    const ring = ringOf([urlOf(1), urlOf(2), urlOf(3)]);
    const first = ring.find('key', any, undefined)!;
    const second = ring.find('key', isNot, first)!;
    expect([first, second]).toEqual(naiveOrder([urlOf(1), urlOf(2), urlOf(3)], 'key').slice(0, 2));
  });

  it('does not grow as members come and go', () => {
    const ring = ringOf([urlOf(1)]);
    for (let i = 0; i < 20; i++) {
      ring.add(`http://pod-${i}:8000`);
      ring.remove(`http://pod-${i}:8000`);
    }
    expect((ring as unknown as { urls: string[] }).urls).toHaveLength(2);
  });

  it('has no answer when it is empty', () => {
    expect(new HashRing(hashes).find('key', any, undefined)).toBeUndefined();
  });
});
