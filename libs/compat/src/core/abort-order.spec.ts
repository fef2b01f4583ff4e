import { fakeWorker } from '@smg/testing';
import { enginesOf, onePerEngine, readAbortOrder, type AbortOrder } from './abort-order';
import { InFlight } from './in-flight';

const read = (body: unknown): AbortOrder | string =>
  readAbortOrder(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
const some = (...rids: string[]): AbortOrder => ({ kind: 'some', rids, isPrefix: false });

describe('readAbortOrder', () => {
  it('reads what engines read', () => {
    expect(read({ rid: 'a' })).toEqual(some('a'));
    expect(read({ rid: ['a', 'b'] })).toEqual(some('a', 'b'));
    expect(read({ rid: 'a', prefix: true })).toMatchObject({ isPrefix: true });
    expect(read({ rid: 'a', abort_all: false })).toEqual(some('a'));
    expect(read({ rid: '', abort_all: true })).toEqual({ kind: 'all' });
  });

  it.each(['', '[]', '"a"', 'null', '{"rid":[]}', '{"rid":["a",""]}', '{"abort_all":1}'])(
    '%s is no order',
    (body) => {
      expect(typeof read(body)).toBe('string');
    },
  );
});

describe('enginesOf', () => {
  const prefill = fakeWorker({ url: 'http://p:1', workerType: 'prefill' });
  const decode = fakeWorker({ url: 'http://d:1', workerType: 'decode' });
  const plain = fakeWorker({ url: 'http://r:1' });
  const workers = [prefill, decode, plain];

  it('nobody knows: undefined', () => {
    expect(enginesOf(some('a'), undefined, workers)).toBeUndefined();
    expect(enginesOf(some('a'), new InFlight(), workers)).toBeUndefined();
    expect(enginesOf({ kind: 'all' }, new InFlight(), workers)).toBeUndefined();
  });

  it('the one that has it; for a pair every prefill engine too', () => {
    const followed = new InFlight();
    followed.begin('plain', plain);
    followed.begin('pair', decode);
    expect(enginesOf(some('plain'), followed, workers)).toEqual([plain]);
    expect(enginesOf(some('pair'), followed, workers)).toEqual([decode, prefill]);
    expect(enginesOf(some('plain', 'unknown'), followed, workers)).toBeUndefined();
  });

  it('ranks of an engine are one', () => {
    const ranks = [0, 1].map((rank) =>
      fakeWorker({ url: `http://e:1@${rank}`, baseUrl: 'http://e:1', dpRank: rank }),
    );
    expect(onePerEngine(ranks)).toEqual([ranks[0]]);
  });
});
