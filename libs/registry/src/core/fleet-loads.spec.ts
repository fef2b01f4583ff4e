import { type EngineRank } from './engine-load';
import { fleetLoads, type LoadedWorker } from './fleet-loads';

const rank = (more: Partial<EngineRank>): EngineRank => ({
  rank: 0,
  running: 0,
  waiting: 0,
  waitingUncachedTokens: 0,
  usedTokens: undefined,
  tokenUsage: undefined,
  throughput: undefined,
  cacheHitRate: undefined,
  transfer: undefined,
  ...more,
});
const worker = (url: string, more: Partial<LoadedWorker> = {}): LoadedWorker => ({
  url,
  baseKey: url.split('@')[0] ?? url,
  dpRank: undefined,
  load: 0,
  ...more,
});

describe('fleetLoads', () => {
  it('sums what engines say, every rank an entry', () => {
    const ranks = new Map([
      ['http://a', [rank({ running: 2, waiting: 1 }), rank({ rank: 1, running: 1 })]],
    ]);
    const told = fleetLoads([worker('http://a', { load: 9 })], ranks);
    expect(told).toMatchObject({ num_reqs: 4, dp_rank_count: 2 });
    expect(told.loads.map((it) => [it.worker, it.dp_rank, it.num_reqs, it.reported])).toEqual([
      ['http://a', 0, 3, true],
      ['http://a', 1, 1, true],
    ]);
  });

  it('a worker of one rank has that rank alone', () => {
    const ranks = new Map([['http://a', [rank({ running: 2 }), rank({ rank: 1, running: 5 })]]]);
    const told = fleetLoads([worker('http://a@1', { dpRank: 1 })], ranks);
    expect(told.loads).toHaveLength(1);
    expect(told.num_reqs).toBe(5);
  });

  it('a silent engine has what the gateway sent it', () => {
    const told = fleetLoads([worker('http://a', { load: 3 }), worker('http://b')], new Map());
    expect(told.num_reqs).toBe(3);
    expect(told.loads.every(({ reported }) => !reported)).toBe(true);
  });

  it('no worker, no load', () => {
    expect(fleetLoads([], new Map())).toEqual({ num_reqs: 0, dp_rank_count: 0, loads: [] });
  });
});
