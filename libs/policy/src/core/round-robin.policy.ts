import { type RoutingPolicy, type RoutingPolicyFactory, type WorkerView } from '@smg/plugin-api';

/** Each candidate in turn, by one counter per policy object. */
export class RoundRobinPolicy implements RoutingPolicy {
  readonly name = 'round_robin';
  readonly readsBody = false;
  private turn = 0;

  select(candidates: readonly WorkerView[]): WorkerView | undefined {
    const picked = candidates[this.turn % candidates.length];
    // Stays a small integer; the one uneven step when it wraps is of no account.
    this.turn = (this.turn + 1) & 0x3fff_ffff;
    return picked;
  }
}

/** `--policy round_robin` */
export class RoundRobinFactory implements RoutingPolicyFactory {
  readonly name = 'round_robin';

  create(): RoutingPolicy {
    return new RoundRobinPolicy();
  }
}
