import { type RankLoad, type WorkerLoadReport } from '@smg/plugin-api';
import { type EngineRank } from './engine-load';

/**
 * The ranks a worker stands for: its own, or all of them. An engine that reports without the rank
 * it was asked for answers for each of its workers as a whole.
 */
export function ranksOf(
  ranks: readonly EngineRank[],
  rank: number | undefined,
): readonly EngineRank[] {
  if (rank === undefined) return ranks;
  const own = ranks.filter((it) => it.rank === rank);
  return own.length === 0 ? ranks : own;
}

/**
 * Sums a report up. Law: SMG contract 3.9: counts and throughput are sums, KV use is the mean of
 * the ranks that give one.
 */
export function reportOf(ranks: readonly EngineRank[], sequence: number): WorkerLoadReport {
  let runningRequests = 0;
  let waitingRequests = 0;
  let waitingUncachedTokens = 0;
  let genThroughput = 0;
  let cacheHitRate: number | undefined;
  let usage = 0;
  let usages = 0;
  for (const rank of ranks) {
    runningRequests += rank.running;
    waitingRequests += rank.waiting;
    waitingUncachedTokens += rank.waitingUncachedTokens;
    genThroughput += rank.throughput ?? 0;
    if (rank.cacheHitRate !== undefined) {
      cacheHitRate = Math.max(cacheHitRate ?? 0, rank.cacheHitRate);
    }
    if (rank.tokenUsage === undefined) continue;
    usage += rank.tokenUsage;
    usages++;
  }
  return {
    sequence,
    runningRequests,
    waitingRequests,
    waitingUncachedTokens,
    tokenUsage: usages === 0 ? 0 : usage / usages,
    genThroughput,
    cacheHitRate,
    ranks: ranks.map(toRankLoad),
  };
}

const toRankLoad = (rank: EngineRank): RankLoad => ({
  rank: rank.rank,
  runningRequests: rank.running,
  waitingRequests: rank.waiting,
  usedTokens: rank.usedTokens,
  tokenUsage: rank.tokenUsage ?? 0,
  genThroughput: rank.throughput ?? 0,
});

/** Used tokens of some ranks; -1 when none gives an absolute count. Source: SMG contract 2.6. */
export function usedTokensOf(ranks: readonly EngineRank[]): number {
  let sum = 0;
  let isKnown = false;
  for (const { usedTokens } of ranks) {
    if (usedTokens === undefined) continue;
    sum += usedTokens;
    isKnown = true;
  }
  return isKnown ? sum : -1;
}
