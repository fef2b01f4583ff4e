import fc from 'fast-check';
import { ExpositionMerger } from './exposition-merger';
import { readExpositionLine } from './exposition-text';
import { documentOf, loadsOfMetrics } from './loads-of-metrics';

function run<R>(work: Generator<unknown, R>): R {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Merges packs of sources `a`, `b`, …; also says which could be read. */
function merge(...packs: string[]): { page: string; accepted: boolean[] } {
  const merger = new ExpositionMerger('source');
  const accepted = packs.map((pack, at) => run(merger.add(String.fromCharCode(97 + at), pack)));
  return { page: [...merger.render()].join(''), accepted };
}

const REQUESTS = `# HELP vllm:requests Requests.
# TYPE vllm:requests counter
vllm:requests{method="post",code="200"} 1027.0
`;

describe('a line of an exposition', () => {
  it.each([
    ['up 1', [], 1],
    ['up{} 1', [], 1],
    [
      'a:b{x="1",y="2",} 1e-05',
      [
        ['x', '1'],
        ['y', '2'],
      ],
      1e-5,
    ],
    ['a{x="q\\"\\\\\\nz, }"} +Inf', [['x', 'q"\\\nz, }']], Infinity],
    ['a{x="é"}NaN', [['x', 'é']], NaN],
    ['a -3.5 1395066363000', [], -3.5],
    ['a_bucket{le="1"} 4 # {trace_id="x"} 0.5', [['le', '1']], 4],
  ])('%s', (line, labels, value) => {
    expect(readExpositionLine(line)).toMatchObject({ kind: 'sample', sample: { labels, value } });
  });

  it.each([
    'hello there',
    'up',
    'foo123',
    '<html>',
    '{"error": 1}',
    'a{x=1} 1',
    'a{x="1} 1',
    'a{x="1" y="2"} 1',
    'a 0x10',
    '9a 1',
    `a{x="${'v'.repeat(70_000)}"} 1`,
  ])('is not %.40s', (line) => {
    expect(readExpositionLine(line)).toBeUndefined();
  });

  it('is judged quickly, whatever it is', () => {
    const hostile = [
      'a{' + '}'.repeat(60_000),
      'a' + ' '.repeat(60_000) + '!',
      'a{x="' + '\\"'.repeat(30_000),
    ];
    for (const line of hostile) {
      const before = performance.now();
      readExpositionLine(line);
      expect(performance.now() - before).toBeLessThan(500);
    }
  });
});

describe('[row 114] merged expositions', () => {
  it('have one HELP and one TYPE, `_` for `:`, sorted labels and a source', () => {
    expect(merge(REQUESTS, REQUESTS.replace('1027.0', '3')).page).toBe(
      `# HELP vllm_requests Requests.
# TYPE vllm_requests counter
vllm_requests{code="200",method="post",source="a"} 1027
vllm_requests{code="200",method="post",source="b"} 3
`,
    );
  });

  it('pad labels that a series lacks', () => {
    const { page } = merge('# TYPE g gauge\ng{dp_rank="0"} 0.5\n', '# TYPE g gauge\ng 2\n');
    expect(page).toBe(
      '# TYPE g gauge\ng{dp_rank="0",source="a"} 0.5\ng{dp_rank="",source="b"} 2\n',
    );
  });

  it('keep histograms and summaries in one family, and give `le` to buckets alone', () => {
    const histogram = `# TYPE h histogram
h_bucket{le="1",m="x"} 1
h_bucket{le="+Inf",m="x"} 2
h_sum{m="x"} 3.5
h_count{m="x"} 2
`;
    const summary = '# TYPE s summary\ns{quantile="0.5"} 1\ns_sum 2\ns_count 3\n';
    expect(merge(histogram + summary).page).toBe(
      `# TYPE h histogram
h_bucket{le="1",m="x",source="a"} 1
h_bucket{le="+Inf",m="x",source="a"} 2
h_sum{m="x",source="a"} 3.5
h_count{m="x",source="a"} 2
# TYPE s summary
s{quantile="0.5",source="a"} 1
s_sum{source="a"} 2
s_count{source="a"} 3
`,
    );
  });

  it('leave out a text that is none, and nothing else', () => {
    const { page, accepted } = merge('<html>oops</html>', REQUESTS + 'broken line', REQUESTS);
    expect(accepted).toEqual([false, false, true]);
    expect(page.match(/source="(.)"/g)).toEqual(['source="c"']);
  });

  it('are empty when there is nothing', () => {
    expect(merge()).toEqual({ page: '', accepted: [] });
    expect(merge('', '# HELP x Y\n# TYPE x gauge\n# EOF\n').page).toBe('');
  });

  it('hold no series twice, nor two types under one name', () => {
    const { page } = merge(
      'a:b 1\na_b 2\n',
      '# TYPE c gauge\nc 1\nc 2\n',
      '# TYPE c counter\nc 9\n',
      'd{source="mine"} 1\n',
    );
    expect(page).toBe(
      '# TYPE a_b untyped\na_b{source="a"} 1\n' +
        '# TYPE c gauge\nc{source="b"} 1\n' +
        '# TYPE d untyped\nd{source="d"} 1\n',
    );
  });

  it('pause while they are made, and come out whole', () => {
    const lines = Array.from({ length: 5000 }, (_, at) => `g{at="${at}"} ${at}`).join('\n');
    const merger = new ExpositionMerger('source');
    const adding = [...merger.add('a', lines)];
    const parts = [...merger.render()];
    expect([adding.length, parts.length]).toEqual([10, 11]);
    expect(parts.join('').match(/^g\{/gm)).toHaveLength(5000);
  });

  it('can be read back, whatever labels hold', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const quoted = (value: string) =>
          `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
        const merger = new ExpositionMerger('source');
        fc.pre(!/^\s|\s$/.test(one) && !/[\r\u2028\u2029]/.test(one + other));
        expect(run(merger.add(other, `m{l=${quoted(one)}} 1`))).toBe(true);
        const line = [...merger.render()].join('').split('\n')[1] ?? '';
        expect(readExpositionLine(line)).toMatchObject({
          sample: {
            labels: [
              ['l', one],
              ['source', other],
            ],
            value: 1,
          },
        });
      }),
    );
  });
});

describe('loads in the metrics of an engine', () => {
  it('are found under the names of SGLang, in both spellings', () => {
    for (const prefix of ['sglang:', 'sglang_']) {
      const text = [
        'num_running_reqs 3',
        'num_queue_reqs 2.0',
        'token_usage 0.5',
        'gen_throughput 12',
        'cache_hit_rate 0.75',
      ]
        .map((line) => prefix + line)
        .join('\n');
      expect(loadsOfMetrics(text)).toMatchObject([
        {
          rank: 0,
          running: 3,
          waiting: 2,
          tokenUsage: 0.5,
          throughput: 12,
          cacheHitRate: 0.75,
          usedTokens: undefined,
        },
      ]);
    }
  });

  it.each(['gpu_cache_usage_perc', 'kv_cache_usage_perc'])('and of vLLM, with %s', (usage) => {
    const text = `vllm:num_requests_running{engine="0"} 1
vllm:num_requests_waiting{engine="0"} 4
vllm:${usage}{engine="0"} 0.25
vllm:num_requests_waiting{engine="1"} 5
`;
    expect(loadsOfMetrics(text)).toMatchObject([
      { rank: 0, running: 1, waiting: 4, tokenUsage: 0.25 },
      { rank: 1, running: 0, waiting: 5, tokenUsage: undefined },
    ]);
  });

  it('of one rank seen several times are the highest', () => {
    const text = `sglang:num_queue_reqs{dp_rank="1",tp_rank="0"} 4
sglang:num_queue_reqs{dp_rank="1",tp_rank="1"} 3
`;
    expect(loadsOfMetrics(text)).toMatchObject([{ rank: 1, waiting: 4 }]);
  });

  it('are unknown when nobody counts requests', () => {
    expect(loadsOfMetrics('')).toBeUndefined();
    expect(loadsOfMetrics('<html>')).toBeUndefined();
    expect(loadsOfMetrics('sglang:token_usage 0.5\nup 1\n')).toBeUndefined();
    expect(loadsOfMetrics('sglang:num_queue_reqs NaN\n')).toBeUndefined();
  });

  it('make a document of the usual shape', () => {
    const ranks = loadsOfMetrics('vllm:num_requests_running 2\nvllm:num_requests_waiting 1\n');
    expect(documentOf(ranks ?? [])).toEqual({
      loads: [{ dp_rank: 0, num_running_reqs: 2, num_waiting_reqs: 1, num_total_reqs: 3 }],
    });
  });
});
