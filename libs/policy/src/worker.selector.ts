import { Injectable } from '@nestjs/common';
import {
  type HeaderReader,
  type RequestRefusal,
  type RoutingPolicy,
  type SelectionContext,
  type SelectionOutcome,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { GatewayError } from '@smg/protocol';
import { CandidateFilterChain } from './candidate-filter.chain';
import { isAllFiltered } from './core/all-filtered';
import { resolveTargetWorker } from './core/target-worker';
import { PolicyRegistry } from './policy.registry';
import { SelectionCounter } from './selection-counter';

const UNAVAILABLE: SelectionOutcome = Object.freeze({
  kind: 'no_candidates',
  cause: 'unavailable',
});
const DECLINED: SelectionOutcome = Object.freeze({ kind: 'no_candidates', cause: 'declined' });

/** The single way to pick a worker: availability, filters, target worker, policy. */
@Injectable()
export class WorkerSelector {
  constructor(
    private readonly filters: CandidateFilterChain,
    private readonly policies: PolicyRegistry,
    private readonly counter: SelectionCounter,
  ) {}

  /** Whether {@link refusalOf} can ever refuse; known after boot. */
  get refusesRequests(): boolean {
    return this.filters.refusesRequests;
  }

  /** A filter's refusal of a request's headers, before authentication. */
  refusalOf(header: HeaderReader): RequestRefusal | undefined {
    return this.filters.refusalOf(header);
  }

  /**
   * Picks a worker of `pool`; call it once per attempt, right before dispatch.
   * @param avoid the worker whose transport just failed; left out while another candidate remains.
   * @throws GatewayError `filter_failed` or `policy_failed`
   */
  select(pool: WorkerPoolView, context: SelectionContext, avoid?: WorkerView): SelectionOutcome {
    const available = pool.available();
    if (available.length === 0) return UNAVAILABLE;
    const eligible = this.filters.apply(available, context);
    if (isAllFiltered(eligible)) return eligible;

    const policy = this.policies.policyFor(pool.model);
    if (policy.honoursTargetWorker === true) {
      const target = resolveTargetWorker(pool.workers, eligible, context);
      if (target === 'refused') return DECLINED;
      if (target !== 'absent') return this.counter.selected(target, pool.model, policy.name);
    }
    const candidates = avoid === undefined ? eligible : without(eligible, avoid);
    const picked = ask(policy, candidates, context);
    if (picked === undefined) return DECLINED;
    return this.counter.selected(picked, pool.model, policy.name);
  }
}

function without(eligible: readonly WorkerView[], avoid: WorkerView): readonly WorkerView[] {
  const others = eligible.filter((worker) => worker !== avoid);
  return others.length === 0 ? eligible : others;
}

function ask(
  policy: RoutingPolicy,
  candidates: readonly WorkerView[],
  context: SelectionContext,
): WorkerView | undefined {
  let picked: WorkerView | undefined;
  try {
    picked = policy.select(candidates, context);
  } catch (cause) {
    throw new GatewayError('policy_failed', `policy '${policy.name}' threw`, { cause });
  }
  if (picked !== undefined && !candidates.includes(picked)) {
    throw new GatewayError(
      'policy_failed',
      `policy '${policy.name}' returned a worker it was not given`,
    );
  }
  return picked;
}
