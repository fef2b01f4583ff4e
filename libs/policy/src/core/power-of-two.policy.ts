import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerLoadReport,
  type WorkerLoads,
  type WorkerView,
} from '@smg/plugin-api';
import { DEFAULT_POLICY_PARAMETERS, NO_LOADS } from './default-parameters';
import { LoadScores } from './load-scores';

/**
 * The less loaded of two distinct uniform picks, by the score of least_load with its built-in
 * parameters. Equal ones go to the first pick, which is as random as a coin.
 */
export class PowerOfTwoPolicy implements RoutingPolicy {
  readonly name = 'power_of_two';
  readonly readsBody = false;
  private readonly scores: LoadScores;

  /** @param random uniform in [0, 1). */
  constructor(
    private readonly random: () => number,
    loads: WorkerLoads = NO_LOADS,
  ) {
    this.scores = new LoadScores(loads, DEFAULT_POLICY_PARAMETERS.leastLoad);
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const count = candidates.length;
    if (count === 1) return candidates[0];
    const first = Math.floor(this.random() * count);
    let second = Math.floor(this.random() * (count - 1));
    if (second >= first) second++;
    const a = candidates[first];
    const b = candidates[second];
    if (a === undefined || b === undefined) return a ?? b;
    const reportA = this.scores.reportOf(a);
    const reportB = this.scores.reportOf(b);
    if (reportA === undefined && reportB === undefined) return b.load < a.load ? b : a;
    const nominal = this.nominalOf(reportA, reportB);
    const isBetter = this.waitOf(b, reportB, nominal) < this.waitOf(a, reportA, nominal);
    const picked = isBetter ? b : a;
    this.scores.dispatched(picked, context);
    return picked;
  }

  removeWorker(worker: WorkerView): void {
    this.scores.forget(worker);
  }

  private nominalOf(a: WorkerLoadReport | undefined, b: WorkerLoadReport | undefined): number {
    const speedA = Math.max(a?.genThroughput ?? 0, 0);
    const speedB = Math.max(b?.genThroughput ?? 0, 0);
    return this.scores.nominal(speedA + speedB, (speedA > 0 ? 1 : 0) + (speedB > 0 ? 1 : 0));
  }

  private waitOf(
    worker: WorkerView,
    report: WorkerLoadReport | undefined,
    nominal: number,
  ): number {
    return report === undefined
      ? this.scores.guessedWait(worker, nominal)
      : this.scores.reportedWait(worker, report);
  }
}

/** `--policy power_of_two` */
export class PowerOfTwoFactory implements RoutingPolicyFactory {
  readonly name = 'power_of_two';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new PowerOfTwoPolicy(parameters.random, parameters.loads);
  }
}
