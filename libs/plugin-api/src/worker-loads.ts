import { type WorkerView } from './worker-view';

/** What one data-parallel rank of an engine reported. */
export interface RankLoad {
  /** 0-based. */
  readonly rank: number;
  readonly runningRequests: number;
  readonly waitingRequests: number;
  /** Tokens in use; undefined when the engine gives no absolute count. */
  readonly usedTokens: number | undefined;
  /** KV-cache use, 0..1. */
  readonly tokenUsage: number;
  /** Tokens per second. */
  readonly genThroughput: number;
}

/** What an engine last reported about itself, summed up for the worker's rank or for all of its ranks. */
export interface WorkerLoadReport {
  /** Grows with every report of this worker; a change means: count from here. */
  readonly sequence: number;
  /** Sum over ranks. */
  readonly runningRequests: number;
  /** Sum over ranks. */
  readonly waitingRequests: number;
  /** Prompt tokens that wait and are in no cache; sum over ranks, 0 where not reported. */
  readonly waitingUncachedTokens: number;
  /** Mean over ranks, 0..1. */
  readonly tokenUsage: number;
  /** Tokens per second, sum over ranks; 0 where not reported. */
  readonly genThroughput: number;
  /** Highest cache-hit rate reported, 0..1; undefined where not reported. */
  readonly cacheHitRate: number | undefined;
  readonly ranks: readonly RankLoad[];
}

/** The last load reports. Token: {@link WORKER_LOADS}. */
export interface WorkerLoads {
  /** Undefined while the engine has not answered, or its last fetch failed. A map look-up. */
  reportOf(worker: WorkerView): WorkerLoadReport | undefined;
}

/** Service token of {@link WorkerLoads}; provided globally by RegistryModule. */
export const WORKER_LOADS = 'smg:worker-loads';
