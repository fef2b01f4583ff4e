import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type WorkerView,
} from '@smg/plugin-api';

/**
 * The less loaded of two distinct uniform picks. Without load reports a worker's expected wait is
 * its number of requests in flight; equal ones go to the first pick, which is as random as a coin.
 */
export class PowerOfTwoPolicy implements RoutingPolicy {
  readonly name = 'power_of_two';

  /** @param random uniform in [0, 1). */
  constructor(private readonly random: () => number) {}

  select(candidates: readonly WorkerView[]): WorkerView | undefined {
    const count = candidates.length;
    if (count === 1) return candidates[0];
    const first = Math.floor(this.random() * count);
    let second = Math.floor(this.random() * (count - 1));
    if (second >= first) second++;
    const a = candidates[first];
    const b = candidates[second];
    return a !== undefined && b !== undefined && b.load < a.load ? b : a;
  }
}

/** `--policy power_of_two` */
export class PowerOfTwoFactory implements RoutingPolicyFactory {
  readonly name = 'power_of_two';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new PowerOfTwoPolicy(parameters.random);
  }
}
