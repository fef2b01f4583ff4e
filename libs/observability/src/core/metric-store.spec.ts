import fc from 'fast-check';
import { MetricStore } from './metric-store';

const textOf = (store: MetricStore): string => [...store.render()].join('');

describe('MetricStore', () => {
  it('shows a series from its first cell on, and a family not before', () => {
    const store = new MetricStore();
    const family = store.counter({ name: 'smg_a_total', help: 'A.', labels: ['x'] });
    expect(textOf(store)).toBe('');
    family.cell('1').inc();
    family.cell('1').inc(2);
    expect(textOf(store)).toBe(
      '# HELP smg_a_total A.\n# TYPE smg_a_total counter\nsmg_a_total{x="1"} 3\n',
    );
  });

  it('renders gauges and metrics without labels', () => {
    const store = new MetricStore();
    const cell = store.gauge({ name: 'smg_g', help: 'G' }).cell();
    cell.set(5);
    cell.inc();
    cell.dec(8);
    expect(textOf(store)).toContain('\nsmg_g -2\n');
    cell.set(Infinity);
    expect(textOf(store)).toContain('\nsmg_g +Inf\n');
  });

  it('renders cumulative buckets with inclusive bounds', () => {
    const store = new MetricStore();
    const cell = store
      .histogram({ name: 'smg_h', help: 'H', labels: ['op'], buckets: [1, 2.5, 10] })
      .cell('x');
    for (const value of [1, 1.5, 2.5, 11, NaN]) cell.observe(value);
    expect(textOf(store).split('\n').slice(2, -1)).toEqual([
      'smg_h_bucket{op="x",le="1"} 1',
      'smg_h_bucket{op="x",le="2.5"} 3',
      'smg_h_bucket{op="x",le="10"} 3',
      'smg_h_bucket{op="x",le="+Inf"} 4',
      'smg_h_sum{op="x"} 16',
      'smg_h_count{op="x"} 4',
    ]);
  });

  it('puts every value into the first bucket whose bound is not below it', () => {
    const bounds = [0.1, 1, 2, 5, 30];
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1, max: 40, noNaN: true })), (values) => {
        const store = new MetricStore();
        const cell = store.histogram({ name: 'h', help: '', buckets: bounds }).cell();
        for (const value of values) cell.observe(value);
        const text = textOf(store);
        for (const bound of bounds) {
          const expected = values.filter((value) => value <= bound).length;
          expect(text).toContain(`h_bucket{le="${bound}"} ${expected}\n`);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('uses the configured duration buckets where none are asked for', () => {
    const store = new MetricStore({ durationBuckets: [7] });
    store.histogram({ name: 'h', help: '' }).cell().observe(1);
    expect(textOf(store)).toContain('h_bucket{le="7"} 1\n');
    expect(() => new MetricStore({ durationBuckets: [2, 1] })).toThrow(/ascending/);
  });

  it('escapes label values and help', () => {
    const store = new MetricStore();
    store
      .gauge({ name: 'g', help: 'a\\b\nc', labels: ['v'] })
      .cell('q"\\\nx')
      .set(1);
    expect(textOf(store)).toBe('# HELP g a\\\\b\\nc\n# TYPE g gauge\ng{v="q\\"\\\\\\nx"} 1\n');
  });

  it('never confuses label values, whatever they contain', () => {
    const text = fc.string({ maxLength: 3, unit: fc.constantFrom('1', ':', '2', ',', '"') });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: String }), (pairs) => {
        const family = new MetricStore().gauge({ name: 'g', help: '', labels: ['a', 'b'] });
        const cells = new Set(pairs.map(([a, b]) => family.cell(a, b)));
        const distinct = new Set(pairs.map((pair) => JSON.stringify(pair)));
        return cells.size === distinct.size;
      }),
    );
  });

  it('gives one family per name and refuses another shape', () => {
    const store = new MetricStore();
    const spec = { name: 'smg_a_total', help: 'A', labels: ['x'] };
    expect(store.counter(spec)).toBe(store.counter(spec));
    expect(() => store.gauge(spec)).toThrow(/already registered as a counter/);
    expect(() => store.counter({ ...spec, labels: ['y'] })).toThrow(/with labels \(x\)/);
    expect(() => store.counter(spec).cell()).toThrow(/0 label values for 1 labels/);
    expect(() => store.counter({ name: 'no spaces', help: '' })).toThrow(/not a metric name/);
    expect(() => store.histogram({ name: 'a', help: '', labels: ['le'] })).toThrow(/cannot be/);
  });

  it('keeps the number of series flat while workers come and go', () => {
    const store = new MetricStore();
    const health = store.gauge({ name: 'smg_worker_health', help: '', labels: ['worker'] });
    const moves = store.counter({ name: 'moves_total', help: '', labels: ['worker', 'to'] });
    for (let round = 0; round < 500; round++) {
      const url = `http://10.0.0.1:${String(round)}`;
      health.cell(url).set(1);
      moves.cell(url, 'open').inc();
      moves.cell(url, 'closed').inc();
      health.forget('worker', url);
      moves.forget('worker', url);
    }
    expect(store.seriesCount).toBe(0);
    expect(textOf(store)).toBe('');
    expect(() => {
      health.forget('nope', 'x');
    }).toThrow(/no label nope/);
  });

  it('shows no series twice when one is put back while a page is being made', () => {
    const store = new MetricStore();
    const family = store.gauge({ name: 'g', help: '', labels: ['worker'] });
    for (const name of ['a', 'b', 'c']) family.cell(name).set(1);
    const page: string[] = [];
    for (const piece of store.render()) {
      page.push(piece);
      if (!piece.includes('"b"')) continue;
      family.forget('worker', 'a');
      family.cell('a').set(2);
    }
    expect(page.filter((piece) => piece.includes('"a"'))).toHaveLength(1);
  });

  it('starts anew after a series was forgotten', () => {
    const family = new MetricStore().counter({ name: 'c', help: '', labels: ['worker'] });
    const before = family.cell('a');
    family.forget('worker', 'a');
    expect(family.cell('a')).not.toBe(before);
  });

  it('caps the values of a model label and makes room when one is forgotten', () => {
    const store = new MetricStore();
    const family = store.counter({ name: 'c', help: '', labels: ['model'] });
    for (let index = 0; index < 3000; index++) family.cell(`m${String(index)}`).inc();
    expect(store.seriesCount).toBe(1025);
    expect(textOf(store)).toContain('c{model="other"} 1976\n');
    family.forget('model', 'm0');
    family.cell('fresh').inc();
    expect(textOf(store)).toContain('c{model="fresh"} 1\n');
  });

  it('refreshes before a scrape, and goes on when a refresher throws', () => {
    const errors: unknown[] = [];
    const store = new MetricStore({ onRefreshError: (error) => errors.push(error) });
    const cell = store.gauge({ name: 'g', help: '' }).cell();
    store.onCollect(() => {
      throw new Error('no');
    });
    store.onCollect(() => {
      cell.inc();
    });
    textOf(store);
    expect(textOf(store)).toContain('\ng 2\n');
    expect(errors).toHaveLength(2);
  });
});
