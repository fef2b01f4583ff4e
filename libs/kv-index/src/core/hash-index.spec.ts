import fc from 'fast-check';
import { type Hash64 } from './hash64';
import { HashIndex } from './hash-index';

const hashOf = (n: number): Hash64 => ({ high: n, low: 4_294_967_295 - n });
const begin = (boundary: number, n: number) => ({ boundary, hash: hashOf(n) });

/** The law with a Map: insertion order is the order of use. */
class NaiveIndex {
  private readonly entries = new Map<string, Map<string, number>>();

  constructor(
    private readonly ttlMs: number,
    private readonly maxEntries: number,
  ) {}

  get size() {
    return this.entries.size;
  }

  touch(boundaries: readonly number[], n: number, tenant: string, now: number) {
    for (const boundary of boundaries) {
      const key = `${boundary}:${n}`;
      const holders = this.entries.get(key) ?? new Map<string, number>();
      if (!this.entries.delete(key) && this.entries.size === this.maxEntries) {
        this.entries.delete(this.entries.keys().next().value!);
      }
      this.entries.set(key, holders);
      holders.delete(tenant);
      if (holders.size === 3) {
        const [stalest] = [...holders].sort((a, b) => a[1] - b[1])[0]!;
        holders.delete(stalest);
      }
      holders.set(tenant, now);
    }
  }

  holders(boundary: number, n: number, now: number) {
    const holders = this.entries.get(`${boundary}:${n}`);
    return [...(holders ?? [])].filter(([, at]) => at >= now - this.ttlMs).map(([name]) => name);
  }

  remove(tenant: string) {
    for (const holders of this.entries.values()) holders.delete(tenant);
  }
}

describe('HashIndex', () => {
  it('agrees with a naive model over a random history', () => {
    const tenant = fc.constantFrom('A', 'B', 'C', 'D', 'E');
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          op: fc.constant('touch' as const),
          boundaries: fc.subarray([16, 64, 256]),
          n: fc.nat(5),
          tenant,
        }),
      },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('remove' as const), tenant }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('reset' as const), tenant }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('sweep' as const) }) },
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 40 }),
        (history, maxEntries, ttlMs) => {
          let now = 1_000;
          const index = new HashIndex(() => now, { ttlMs, maxEntries });
          const naive = new NaiveIndex(ttlMs, maxEntries);
          for (const action of history) {
            // Each step has a time of its own: which holder is the stalest is never a matter of luck.
            now++;
            if (action.op === 'touch') {
              // Odd and even beginnings have the same hashes in two spaces.
              const { n } = action;
              const beginnings = action.boundaries.map((boundary) => begin(boundary, n >> 1));
              index.touch(beginnings, action.tenant, n & 1);
              naive.touch(action.boundaries, action.n, action.tenant, now);
            } else if (action.op === 'remove') {
              index.removeTenant(action.tenant);
              naive.remove(action.tenant);
            } else if (action.op === 'reset') {
              index.resetTenant(action.tenant);
              naive.remove(action.tenant);
            } else {
              while (!index.sweep(2));
            }
            expect(index.size).toBeLessThanOrEqual(maxEntries);
            expect(index.sizeOf(0) + index.sizeOf(1)).toBe(index.size);
            for (const boundary of [16, 64, 256]) {
              for (let n = 0; n <= 5; n++) {
                expect(new Set(index.holders(boundary, hashOf(n >> 1), n & 1))).toEqual(
                  new Set(naive.holders(boundary, n, now)),
                );
              }
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('tells boundaries apart, and hashes that share a half', () => {
    const index = new HashIndex(() => 0, { ttlMs: 1_000, maxEntries: 8 });
    index.touch([{ boundary: 16, hash: { high: 1, low: 2 } }], 'A');
    expect(index.holders(16, { high: 1, low: 2 })).toEqual(['A']);
    expect(index.holders(32, { high: 1, low: 2 })).toEqual([]);
    expect(index.holders(16, { high: 2, low: 2 })).toEqual([]);
    expect(index.holders(16, { high: 1, low: 1 })).toEqual([]);
  });

  it('replaces the stalest of three holders', () => {
    let now = 0;
    const index = new HashIndex(() => now, { ttlMs: 1_000 });
    for (const tenant of ['A', 'B', 'C', 'A', 'D']) {
      now++;
      index.touch([begin(16, 1)], tenant);
    }
    expect(new Set(index.holders(16, hashOf(1)))).toEqual(new Set(['A', 'C', 'D']));
  });

  it('gives the place of a removed tenant away before that of a living one', () => {
    let now = 0;
    const index = new HashIndex(() => now, { ttlMs: 1_000 });
    for (const tenant of ['A', 'B', 'C']) {
      now++;
      index.touch([begin(16, 1)], tenant);
    }
    index.removeTenant('C');
    index.touch([begin(16, 1)], 'D');
    expect(new Set(index.holders(16, hashOf(1)))).toEqual(new Set(['A', 'B', 'D']));
  });

  it('forgets a tenant at once, also when one of the same name comes back', () => {
    const index = new HashIndex(() => 0, { ttlMs: 1_000 });
    index.touch([begin(16, 1)], 'A');
    index.removeTenant('A');
    index.touch([begin(16, 2)], 'A');
    expect(index.holders(16, hashOf(1))).toEqual([]);
    expect(index.holders(16, hashOf(2))).toEqual(['A']);
  });

  it('sweeps no more than its budget, and only what is expired', () => {
    let now = 0;
    const index = new HashIndex(() => now, { ttlMs: 100 });
    for (let n = 0; n < 10; n++) index.touch([begin(16, n)], 'A');
    now = 50;
    index.touch([begin(16, 0), begin(16, 99)], 'A');
    now = 101;
    expect(index.sweep(5)).toBe(false);
    expect(index.size).toBe(6);
    expect(index.sweep(5)).toBe(true);
    expect(index.size).toBe(2);
    expect(index.holders(16, hashOf(0))).toEqual(['A']);
  });

  it('holds no more than it may under a stream of unique prompts; the latest stay', () => {
    const index = new HashIndex(() => 0, { ttlMs: 1_000, maxEntries: 1_000 });
    for (let n = 0; n < 20_000; n++) index.touch([begin(16, n), begin(64, n)], `w${n % 64}`);
    expect(index.size).toBe(1_000);
    expect(index.holders(64, hashOf(19_999))).toEqual([`w${19_999 % 64}`]);
    expect(index.holders(64, hashOf(19_499))).toEqual([]);
  });
});
