import fc from 'fast-check';
import { fakeWorkers } from '@smg/testing';
import { KeyTable, pinFirst, pinLast, pinnedOf } from './key-table';

const workers = fakeWorkers(4);
const find = (url: string) => workers.find((worker) => worker.url === url);
const [a, b, c] = workers as [(typeof workers)[0], (typeof workers)[0], (typeof workers)[0]];

describe('KeyTable', () => {
  it('behaves like a list of keys in order of use, with a bound and an idle time', () => {
    const step = fc.record({
      what: fc.constantFrom('use', 'use', 'sweep', 'wait'),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'a_', 'a1', 'a12'),
      amount: fc.nat(15),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        let now = 0;
        const table = new KeyTable(() => now, 20, 4);
        let model: { key: string; url: string; at: number }[] = [];
        for (const { what, key, amount } of steps) {
          if (what === 'wait') now += amount;
          else if (what === 'sweep') {
            table.sweep(100);
            model = model.filter(({ at }) => now - at < 20);
          } else {
            const known = model.find((one) => one.key === key && now - one.at < 20);
            model = model.filter((one) => one.key !== key);
            const entry = table.use(key);
            expect(entry?.pins).toEqual(known === undefined ? undefined : [known.url]);
            const worker = workers[amount % 4]!;
            if (entry === undefined) table.add(key, worker);
            model.push({ key, url: known?.url ?? worker.url, at: now });
            if (model.length > 4) model.shift();
          }
          expect(table.size).toBe(model.length);
        }
      }),
    );
  });

  it('sweeps in slices', () => {
    let now = 0;
    const table = new KeyTable(() => now, 10);
    for (let i = 0; i < 5; i++) table.add(`k${i}`, a);
    now = 10;
    expect([table.sweep(2), table.size]).toEqual([false, 3]);
    expect([table.sweep(2), table.sweep(2), table.size]).toEqual([false, true, 0]);
  });

  it('keeps two workers per key', () => {
    const table = new KeyTable(() => 0, 10);
    table.add('k', a);
    const entry = table.use('k')!;
    pinLast(entry, b);
    expect(pinnedOf(entry, workers, find)).toBe(a);
    expect(pinnedOf(entry, [c, b], find)).toBe(b);
    pinLast(entry, c);
    expect(pinnedOf(entry, workers, find)).toBe(b);
    pinFirst(entry, a);
    expect(entry.pins).toEqual([a.url, b.url]);
    pinFirst(entry, b);
    expect(entry.pins).toEqual([b.url, a.url]);
    expect(pinnedOf(entry, [c], find)).toBeUndefined();
  });
});
