import { type EngineRank } from './engine-load';

/** A worker, as far as its load is told. */
export interface LoadedWorker {
  readonly url: string;
  readonly baseKey: string;
  readonly dpRank: number | undefined;
  /** Requests in flight through this gateway. */
  readonly load: number;
}

/** Load of one rank in the words of an engine. */
export interface FleetLoad {
  readonly worker: string;
  readonly dp_rank: number;
  readonly num_reqs: number;
  readonly num_total_reqs: number;
  readonly num_running_reqs: number;
  readonly num_waiting_reqs: number;
  readonly num_used_tokens?: number;
  readonly token_usage?: number;
  /** False: the engine said nothing, and the figures are what this gateway has sent it. */
  readonly reported: boolean;
}

/** What an engine's `/v1/loads` looks like, for the fleet. */
export interface FleetLoads {
  /** Sum of the loads. */
  readonly num_reqs: number;
  /** Entries of `loads`. */
  readonly dp_rank_count: number;
  readonly loads: readonly FleetLoad[];
}

/**
 * The load of every worker. An engine that says nothing is never told to be idle while requests are on
 * their way to it: whoever waits for the fleet to be drained would go on too early.
 */
export function fleetLoads(
  workers: readonly LoadedWorker[],
  ranks: ReadonlyMap<string, readonly EngineRank[]>,
): FleetLoads {
  const loads = workers.flatMap((worker) => loadsOf(worker, ranks.get(worker.baseKey)));
  return {
    num_reqs: loads.reduce((sum, { num_reqs }) => sum + num_reqs, 0),
    dp_rank_count: loads.length,
    loads,
  };
}

function loadsOf(
  { url, dpRank, load }: LoadedWorker,
  ranks: readonly EngineRank[] | undefined,
): readonly FleetLoad[] {
  const own = dpRank === undefined ? ranks : ranks?.filter(({ rank }) => rank === dpRank);
  if (own === undefined || own.length === 0) {
    const figures = { num_reqs: load, num_total_reqs: load, num_running_reqs: load };
    return [
      { worker: url, dp_rank: dpRank ?? 0, ...figures, num_waiting_reqs: 0, reported: false },
    ];
  }
  return own.map(({ rank, running, waiting, usedTokens, tokenUsage }) => ({
    worker: url,
    dp_rank: rank,
    num_reqs: running + waiting,
    num_total_reqs: running + waiting,
    num_running_reqs: running,
    num_waiting_reqs: waiting,
    ...(usedTokens === undefined ? {} : { num_used_tokens: usedTokens }),
    ...(tokenUsage === undefined ? {} : { token_usage: tokenUsage }),
    reported: true,
  }));
}
