import { type RoutingPolicy, type RoutingPolicyFactory, type WorkerView } from '@smg/plugin-api';

/** The first candidate: the gateway in front of one engine, or of another balancer. */
export class PassthroughPolicy implements RoutingPolicy {
  readonly name = 'passthrough';
  readonly readsBody = false;

  select(candidates: readonly WorkerView[]): WorkerView | undefined {
    return candidates[0];
  }
}

/** `--policy passthrough` */
export class PassthroughFactory implements RoutingPolicyFactory {
  readonly name = 'passthrough';

  create(): RoutingPolicy {
    return new PassthroughPolicy();
  }
}
