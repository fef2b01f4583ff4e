import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type WorkerView,
} from '@smg/plugin-api';

/** Uniform over the candidates. */
export class RandomPolicy implements RoutingPolicy {
  readonly name = 'random';
  readonly readsBody = false;

  /** @param random uniform in [0, 1). */
  constructor(private readonly random: () => number) {}

  select(candidates: readonly WorkerView[]): WorkerView | undefined {
    return candidates[Math.floor(this.random() * candidates.length)];
  }
}

/** `--policy random` */
export class RandomFactory implements RoutingPolicyFactory {
  readonly name = 'random';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new RandomPolicy(parameters.random);
  }
}
