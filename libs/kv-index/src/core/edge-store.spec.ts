import fc from 'fast-check';
import { type Edge, EdgeStore, NO_CHUNK } from './edge-store';

const KIB = 1_024;
/** What may be held beside the 1.3-fold of what is used: two full chunks and the open one. */
const SLACK = 3 * 32 * KIB;

const edge = (): Edge => ({ chunk: NO_CHUNK, start: 0, size: 0, place: 0 });
const bytesOf = ({ chunk, start, size }: Edge) => chunk.bytes.subarray(start, start + size);

/** A store, what it should hold, and a source of bytes that are unlike each other. */
function setUp() {
  const store = new EdgeStore();
  const held = new Map<Edge, Buffer>();
  let next = 0;
  const put = (size: number): Edge => {
    const bytes = Buffer.alloc(size);
    for (let i = 0; i < size; i += 7) bytes[i] = ++next;
    const it = edge();
    store.put(it, bytes, 0, size);
    held.set(it, bytes);
    return it;
  };
  const remove = (it: Edge) => {
    store.remove(it);
    held.delete(it);
  };
  const cut = (it: Edge, at: number) => {
    const upper = edge();
    store.cut(it, at, upper);
    const bytes = held.get(it)!;
    held.set(upper, bytes.subarray(0, at));
    held.set(it, bytes.subarray(at));
  };
  const check = () => {
    let used = 0;
    for (const [it, bytes] of held) {
      if (!bytesOf(it).equals(bytes)) throw new Error('an edge lost its bytes');
      used += bytes.length;
    }
    expect(store.usedBytes).toBe(used);
    expect(store.heldBytes).toBeLessThanOrEqual(used * 1.3 + SLACK);
  };
  return { store, held, put, remove, cut, check };
}

describe('EdgeStore', () => {
  it('keeps every edge, cut and moved as it may be, and little else', () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          op: fc.constant('put' as const),
          size: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9_000 })),
          at: fc.nat(),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          op: fc.constantFrom('remove' as const, 'cut' as const),
          size: fc.nat(),
          at: fc.nat(),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (history) => {
        const it = setUp();
        for (const { op, size, at } of history) {
          const some = [...it.held.keys()][at % Math.max(1, it.held.size)];
          if (op === 'put') it.put(size);
          else if (some !== undefined && op === 'remove') it.remove(some);
          else if (some !== undefined && some.size > 1) it.cut(some, 1 + (size % (some.size - 1)));
        }
        it.check();
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['the oldest', (edges: Edge[]) => edges.slice(0, 3_600)],
    ['nine of ten', (edges: Edge[]) => edges.filter((_, at) => at % 10 !== 0)],
    ['all but the first of each chunk', (edges: Edge[]) => edges.filter(({ start }) => start > 0)],
  ])('lets go of what was removed: %s', (_, chosen) => {
    const it = setUp();
    const edges = Array.from({ length: 4_000 }, (_, at) => it.put(300 + ((at * 37) % 400)));
    for (const one of chosen(edges)) it.remove(one);
    it.check();
  });

  it('holds nothing of large edges once they are gone, and a piece of one does not pin it', () => {
    const it = setUp();
    const large = Array.from({ length: 8 }, () => it.put(256 * KIB));
    for (const one of large) it.cut(one, 50);
    for (const one of large) it.remove(one);
    it.check();
    expect(it.store.heldBytes).toBeLessThan(SLACK + KIB);
  });

  it('moves a bounded number of edges in one call', () => {
    const it = setUp();
    // Every chunk: seven large edges, and thousands of one byte.
    const large: Edge[] = [];
    for (let chunk = 0; chunk < 8; chunk++) {
      for (let i = 0; i < 7; i++) large.push(it.put(4 * KIB));
      for (let i = 0; i < 4_096; i++) it.put(1);
    }
    let most = 0;
    for (const one of large) {
      const before = new Map([...it.held.keys()].map((each) => [each, each.chunk]));
      it.remove(one);
      let moved = 0;
      for (const [each, chunk] of before) if (each !== one && each.chunk !== chunk) moved++;
      most = Math.max(most, moved);
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(64);
  });
});
