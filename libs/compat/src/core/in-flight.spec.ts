import { fakeWorker, type FakeWorker } from '@smg/testing';
import * as fc from 'fast-check';
import { InFlight } from './in-flight';

const worker = (name: string): FakeWorker => fakeWorker({ url: `http://${name}:1` });

describe('InFlight', () => {
  const a = worker('a');
  const b = worker('b');

  it('knows where an id is while it is there', () => {
    const all = new InFlight();
    const first = all.begin('r', a);
    const second = all.begin('r', b);
    expect([...all.workersOf('r')]).toEqual(expect.arrayContaining([a, b]));
    first?.over();
    first?.over();
    expect([...all.workersOf('r')]).toEqual([b]);
    second?.over();
    expect(all.workersOf('r').size).toBe(0);
    expect(all.size).toBe(0);
  });

  it('follows every id of a batch', () => {
    const all = new InFlight();
    const batch = all.begin(['x', 'y', 7], a);
    expect([all.size, all.workersOf('y').has(a)]).toEqual([2, true]);
    batch?.over();
    expect(all.size).toBe(0);
  });

  it('finds by prefix', () => {
    const all = new InFlight();
    all.begin('group-1', a);
    all.begin('group-2', b);
    all.begin('other', b);
    expect(all.workersOfPrefix('group-').size).toBe(2);
    expect([...all.workersOfPrefix('oth')]).toEqual([b]);
    expect(all.workersOfPrefix('none').size).toBe(0);
  });

  it.each([undefined, null, 7, '', 'x'.repeat(257), [], {}, new Array(1025).fill('a')])(
    'does not follow %p',
    (rid) => {
      const all = new InFlight();
      all.begin(rid, a);
      expect(all.size).toBe(0);
    },
  );

  it('is bounded: what does not fit is not followed, and leaves nothing', () => {
    const all = new InFlight(2);
    const kept = [all.begin('1', a), all.begin('2', a)];
    expect(all.begin('3', a)).toBeUndefined();
    expect(all.workersOf('3').size).toBe(0);
    for (const it of kept) it?.over();
    expect(all.begin('3', a)).toBeDefined();
  });

  it('is empty when everything is over, in whatever order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom(a, b), fc.nat(9))),
        (requests) => {
          const all = new InFlight();
          const begun = requests.map(([rid, at, rank]) => ({ rank, one: all.begin(rid, at) }));
          expect(all.size).toBe(requests.length);
          for (const { one } of begun.toSorted((x, y) => x.rank - y.rank)) one?.over();
          expect(all.size).toBe(0);
          expect(['p', 'q', 'r'].every((rid) => all.workersOf(rid).size === 0)).toBe(true);
        },
      ),
    );
  });
});
