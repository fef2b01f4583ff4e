import { fakeContext, fakeWorker } from '@smg/testing';
import { type RankLoad, type WorkerLoadReport } from '@smg/plugin-api';
import { FakeLoads } from '../../test/fake-loads';
import { chooseRank, estimateTokens, RankBalancer } from './rank-choice';

const worker = fakeWorker();

function reportOf(...usedTokens: (number | undefined)[]): WorkerLoadReport {
  const ranks = usedTokens.map((tokens, rank): RankLoad => ({
    rank,
    runningRequests: 0,
    waitingRequests: 0,
    usedTokens: tokens,
    tokenUsage: 0,
    genThroughput: 0,
  }));
  return new FakeLoads().report(worker, { ranks }).reportOf(worker)!;
}

describe('chooseRank', () => {
  it.each<[(number | undefined)[], [number, number][], number | undefined]>([
    [[30, 10, 20], [], 1],
    [[10, 10, 5], [[2, 6]], 0],
    [[10, 10], [[0, 1]], 1],
    [[undefined, 10], [], 1],
    [[undefined], [], undefined],
    [[], [], undefined],
  ])('of %j with %j sent since is %s', (used, sent, rank) => {
    expect(chooseRank(reportOf(...used), new Map(sent))).toBe(rank);
  });
});

describe('estimateTokens', () => {
  it.each([
    [{ tokens: [1, 2, 3], text: 'x' }, 3],
    [{ text: 'one two  three\nfour' }, 6],
    [{ text: '   ' }, 1],
    [{}, 1],
  ])('of %j is %i', (options, tokens) => {
    expect(estimateTokens(fakeContext(options))).toBe(tokens);
  });
});

describe('RankBalancer', () => {
  it('counts what it sent until the next report', () => {
    const balancer = new RankBalancer();
    const context = fakeContext({ tokens: Array(10).fill(1) });
    const report = reportOf(0, 5, 12);
    const picks = Array.from({ length: 4 }, () => balancer.choose(worker, report, context));
    expect(picks).toEqual([0, 1, 0, 2]);
    expect(balancer.choose(worker, { ...report, sequence: 99 }, context)).toBe(0);
  });
});
