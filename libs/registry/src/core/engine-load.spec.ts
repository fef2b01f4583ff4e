import { readLoadDocument } from './engine-load';
import { ranksOf, reportOf, usedTokensOf } from './load-report';
import { effectiveOverload, isOverloaded } from './overload';

const rank = (dp_rank: number, figures: object = {}) => ({
  dp_rank,
  num_running_reqs: 2,
  num_waiting_reqs: 1,
  ...figures,
});

const read = (...loads: object[]) => readLoadDocument({ loads }) ?? [];

describe('a load document', () => {
  it('is read rank by rank', () => {
    const figures = {
      num_waiting_uncached_tokens: 30,
      num_used_tokens: 100,
      token_usage: 0.25,
      gen_throughput: 1500.5,
      cache_hit_rate: 0.5,
    };
    expect(read(rank(3, figures))).toEqual([
      {
        rank: 3,
        running: 2,
        waiting: 1,
        waitingUncachedTokens: 30,
        usedTokens: 100,
        tokenUsage: 0.25,
        throughput: 1500.5,
        cacheHitRate: 0.5,
        transfer: undefined,
      },
    ]);
  });

  it('may leave figures out, and ranks', () => {
    const [first, second] = read({ num_running_reqs: 1 }, { num_waiting_reqs: 4 });
    expect(first).toMatchObject({ rank: 0, running: 1, waiting: 0, usedTokens: undefined });
    expect(second).toMatchObject({ rank: 1, running: 0, waiting: 4, tokenUsage: undefined });
  });

  it.each([
    ['no object', []],
    ['text', 'ok'],
    ['nothing', undefined],
    ['no loads', { status: 'ok' }],
    ['no list', { loads: {} }],
    ['an empty list', { loads: [] }],
    ['a list of numbers', { loads: [1] }],
    ['ranks without a known figure', { loads: [{ num_reqs: 3 }] }],
    ['one odd rank', { loads: [rank(0), null] }],
    ['figures that are no counts', { loads: [{ num_running_reqs: -1, num_waiting_reqs: '4' }] }],
    ['more ranks than there can be', { loads: Array.from({ length: 5000 }, () => rank(0)) }],
  ])('is not %s', (_, json) => {
    expect(readLoadDocument(json)).toBeUndefined();
  });

  it('never yields a figure out of range', () => {
    const odd = {
      token_usage: 7,
      cache_hit_rate: -1,
      gen_throughput: 'fast',
      num_used_tokens: null,
    };
    expect(read(rank(-1, odd))[0]).toMatchObject({
      rank: 0,
      tokenUsage: 1,
      cacheHitRate: undefined,
      throughput: undefined,
      usedTokens: undefined,
    });
  });

  it('tells the queues of a prefill or decode engine, in both spellings', () => {
    const prefill = {
      mode: 'prefill',
      prefill_bootstrap_queue_reqs: 2,
      prefill_inflight_queue_reqs: 3,
      kv_transfer_latency_ms: 4.5,
      kv_transfer_speed_gb_s: 9,
    };
    const decode = { mode: 'decode', decode_prealloc_queue_reqs: 1, decode_transfer_queue_reqs: 1 };
    const older = { mode: 'prefill', prefill_prealloc_queue_reqs: 7 };
    const transfers = read(
      rank(0, { disaggregation: prefill }),
      rank(1, { disagg: decode }),
      rank(2, { disaggregation: older }),
      rank(3, { disaggregation: { mode: 'null' } }),
      rank(4, { disaggregation: null }),
    ).map(({ transfer }) => transfer);
    expect(transfers).toEqual([
      { role: 'prefill', latencyMs: 4.5, speed: 9, prefillQueue: 5, decodeQueue: undefined },
      {
        role: 'decode',
        latencyMs: undefined,
        speed: undefined,
        prefillQueue: undefined,
        decodeQueue: 2,
      },
      {
        role: 'prefill',
        latencyMs: undefined,
        speed: undefined,
        prefillQueue: 7,
        decodeQueue: undefined,
      },
      undefined,
      undefined,
    ]);
  });
});

describe('a report', () => {
  const ranks = read(
    rank(0, { token_usage: 0.2, gen_throughput: 100, cache_hit_rate: 0.1, num_used_tokens: 10 }),
    rank(1, { token_usage: 0.6, gen_throughput: 50, cache_hit_rate: 0.4 }),
    rank(2, { num_waiting_uncached_tokens: 12 }),
  );

  it('sums counts and throughput; KV use is the mean of those that give it', () => {
    const report = reportOf(ranks, 7);
    expect(report).toMatchObject({
      sequence: 7,
      runningRequests: 6,
      waitingRequests: 3,
      waitingUncachedTokens: 12,
      genThroughput: 150,
      cacheHitRate: 0.4,
    });
    expect(report.tokenUsage).toBeCloseTo(0.4);
    expect(report.ranks.map((it) => it.usedTokens)).toEqual([10, undefined, undefined]);
  });

  it('of a rank is of that rank, and of the engine where it does not tell ranks apart', () => {
    expect(ranksOf(ranks, 1).map((it) => it.rank)).toEqual([1]);
    expect(ranksOf(ranks, undefined)).toBe(ranks);
    expect(ranksOf(ranks, 9)).toBe(ranks);
  });

  it('counts used tokens, or says -1', () => {
    expect(usedTokensOf(ranks)).toBe(10);
    expect(usedTokensOf(ranksOf(ranks, 1))).toBe(-1);
    expect(usedTokensOf(read(rank(0, { num_used_tokens: 0 })))).toBe(0);
  });
});

describe('overload', () => {
  const report = (waiting: number, usage: number) =>
    reportOf(read(rank(0, { num_waiting_reqs: waiting, token_usage: usage })), 1);

  it.each([
    [{ waitingRequests: 8 }, 7, 1, false],
    [{ waitingRequests: 8 }, 8, 0, true],
    [{ tokenUsage: 0.9 }, 99, 0.89, false],
    [{ tokenUsage: 0.9 }, 0, 0.9, true],
    [{ waitingRequests: 8, tokenUsage: 0.9 }, 8, 0.1, true],
    [{ waitingRequests: 8, tokenUsage: 0.9 }, 7, 0.8, false],
    [undefined, 1000, 1, false],
  ])('with %j, %i waiting, KV use %d: %s', (limits, waiting, usage, expected) => {
    expect(isOverloaded(limits, report(waiting, usage))).toBe(expected);
  });

  it('is nothing without a report', () => {
    expect(isOverloaded({ waitingRequests: 1 }, undefined)).toBe(false);
  });

  it("takes a worker's own limits signal by signal", () => {
    const shared = { waitingRequests: 8, tokenUsage: 0.9 };
    expect(effectiveOverload({ waiting_requests: 2 }, shared)).toEqual({
      waitingRequests: 2,
      tokenUsage: 0.9,
    });
    expect(effectiveOverload({ token_usage: 0.5 }, undefined)).toEqual({ tokenUsage: 0.5 });
    expect(effectiveOverload({}, undefined)).toBeUndefined();
    expect(effectiveOverload(undefined, undefined)).toBeUndefined();
  });
});
