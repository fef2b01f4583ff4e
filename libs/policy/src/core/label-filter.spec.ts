import { describeCandidateFilter, fakeContext, fakeWorker } from '@smg/testing';
import { LabelFilter } from './label-filter';

const HEADER = 'x-worker-filter';
const workers = Object.freeze([
  fakeWorker({ url: 'http://a', labels: { tier: 'gold', zone: '1' } }),
  fakeWorker({ url: 'http://b', labels: { tier: 'iron', zone: '1' } }),
  fakeWorker({ url: 'http://c', labels: { tier: 'gold', flag: '' } }),
]);
const asking = (value?: string) =>
  fakeContext({ headers: value === undefined ? {} : { [HEADER]: value } });
const kept = (value?: string) =>
  new LabelFilter(HEADER).filter(workers, asking(value)).map(({ url }) => url.slice(-1));

describeCandidateFilter(
  'label',
  () => new LabelFilter(HEADER),
  () => [
    { title: 'one pair', candidates: workers, context: asking('tier=gold') },
    { title: 'nobody', candidates: workers, context: asking('tier=lead') },
  ],
);

describe('LabelFilter', () => {
  it.each([
    ['tier=gold', ['a', 'c']],
    ['tier=gold,zone=1', ['a']],
    [' tier = gold , zone = 1 ', ['a']],
    ['flag=', ['c']],
    ['tier=Gold', []],
    ['tier=gold,tier=iron', []],
    ['tier=gold,nonsense,=x', ['a', 'c']],
    ['zone==1', []],
  ])('%s keeps %j', (value, expected) => {
    expect(kept(value)).toEqual(expected);
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['only malformed pairs', 'gold,,=x, = '],
    ['a value outside ASCII', 'tier=g\u00f6ld'],
  ])('%s has no effect', (_, value) => {
    expect(new LabelFilter(HEADER).filter(workers, asking(value))).toBe(workers);
  });

  it('returns the same array when every worker fits', () => {
    const gold = Object.freeze([workers[0]!, workers[2]!]);
    expect(new LabelFilter(HEADER).filter(gold, asking('tier=gold'))).toBe(gold);
  });

  it('sees labels that changed under a header it knows', () => {
    const filter = new LabelFilter(HEADER);
    const worker = fakeWorker({ labels: { tier: 'gold' } });
    const one = Object.freeze([worker]);
    expect(filter.filter(one, asking('tier=gold'))).toHaveLength(1);
    worker.labels = new Map([['tier', 'iron']]);
    expect(filter.filter(one, asking('tier=gold'))).toHaveLength(0);
  });

  it('answers the same for thousands of different headers', () => {
    const filter = new LabelFilter(HEADER);
    for (let i = 0; i < 2_000; i++) {
      expect(filter.filter(workers, asking(`tier=t${i}`))).toHaveLength(0);
    }
    expect(filter.filter(workers, asking('tier=gold'))).toHaveLength(2);
  });

  it('keeps the survivors of a large frozen array, and takes them anew for the next one', () => {
    const subject = new LabelFilter(HEADER);
    const workers = Array.from({ length: 64 }, (_, index) =>
      fakeWorker({ labels: { tier: index % 2 === 0 ? 'a' : 'b' } }),
    );
    const asking = (value: string) => fakeContext({ headers: { [HEADER]: value } });
    const first = Object.freeze([...workers]);
    const kept = subject.filter(first, asking('tier=a'));
    expect(kept).toHaveLength(32);
    expect(subject.filter(first, asking('tier=a'))).toBe(kept);
    expect(subject.filter(first, asking('tier=b'))).toHaveLength(32);
    expect(subject.filter(first, asking('tier=b'))).not.toContain(workers[0]);

    // What the directory hands out after labels changed is another array.
    const second = Object.freeze([...workers.slice(0, 40)]);
    expect(subject.filter(second, asking('tier=a'))).toHaveLength(20);
  });

  it('explains in numbers and never repeats what the client sent', () => {
    const why = new LabelFilter(HEADER).explain(workers, asking('tier=lead'));
    expect(why).toBe('3 without the labels asked for in x-worker-filter');
  });
});
