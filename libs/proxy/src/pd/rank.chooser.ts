import { type SelectionContext, type WorkerLoads, type WorkerView } from '@smg/plugin-api';
import { RankBalancer } from '@smg/policy';

/** The data-parallel rank of a leg: the worker's own, or with `dp_min_token` the one with the fewest tokens. */
export class RankChooser {
  private readonly balancer = new RankBalancer();

  /** @param loads undefined: only a worker's own rank counts. */
  constructor(private readonly loads: WorkerLoads | undefined) {}

  rankOf(worker: WorkerView, context: SelectionContext): number | undefined {
    if (worker.dpRank !== undefined) return worker.dpRank;
    const report = this.loads?.reportOf(worker);
    // One rank is no choice, and engines without ranks would refuse a number.
    if (report === undefined || report.ranks.length < 2) return undefined;
    return this.balancer.choose(worker, report, context);
  }
}
