import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import {
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type SelectionOutcome,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { CandidateFilterChain } from './candidate-filter.chain';
import { isAllFiltered } from './core/all-filtered';
import { askPolicy } from './core/ask-policy';
import { type StickyKeys } from './core/sticky-keys';
import { resolveTargetWorker } from './core/target-worker';
import { STICKY_KEYS } from './policy-options';
import { PolicyRegistry } from './policy.registry';
import { SelectionCounter } from './selection-counter';

const UNAVAILABLE: SelectionOutcome = Object.freeze({
  kind: 'no_candidates',
  cause: 'unavailable',
});
const DECLINED: SelectionOutcome = Object.freeze({ kind: 'no_candidates', cause: 'declined' });

/** The single way to pick a worker: availability, filters, target worker, sticky key, policy. */
@Injectable()
export class WorkerSelector implements OnModuleDestroy {
  constructor(
    private readonly filters: CandidateFilterChain,
    private readonly policies: PolicyRegistry,
    private readonly counter: SelectionCounter,
    @Inject(STICKY_KEYS) private readonly sticky: StickyKeys | undefined,
  ) {}

  onModuleDestroy(): void {
    this.sticky?.dispose();
  }

  /** Whether {@link refusalOf} can ever refuse; known after boot. */
  get refusesRequests(): boolean {
    return this.filters.refusesRequests;
  }

  /** A filter's refusal of a request's headers, before authentication. */
  refusalOf(header: HeaderReader): RequestRefusal | undefined {
    return this.filters.refusalOf(header);
  }

  /**
   * Picks a worker of `pool`; call it once per attempt and leg, right before dispatch.
   * @param avoid the worker whose transport just failed; left out while another candidate remains.
   * @throws GatewayError `filter_failed` or `policy_failed`
   */
  select(pool: WorkerPoolView, context: SelectionContext, avoid?: WorkerView): SelectionOutcome {
    const policy = this.policies.policyFor(pool.model, context.leg);
    const available = pool.available();
    if (available.length === 0) {
      policy.onNobody?.();
      return UNAVAILABLE;
    }
    const eligible = this.filters.apply(available, context);
    if (isAllFiltered(eligible)) return eligible;

    if (policy.honoursTargetWorker === true) {
      const target = resolveTargetWorker(pool.workers, eligible, context);
      if (target !== 'absent') {
        policy.onTargetWorker?.(target !== 'refused');
        if (target === 'refused') return DECLINED;
        return this.counter.selected(target, pool.model, policy.name);
      }
    }
    const candidates = avoid === undefined ? eligible : without(eligible, avoid);
    const { sticky } = this;
    const picked =
      sticky === undefined || policy.ownsAffinity === true
        ? askPolicy(policy, candidates, context)
        : sticky.select(policy, candidates, context, avoid);
    if (picked === undefined) return DECLINED;
    return this.counter.selected(picked, pool.model, policy.name);
  }
}

function without(eligible: readonly WorkerView[], avoid: WorkerView): readonly WorkerView[] {
  const others = eligible.filter((worker) => worker !== avoid);
  return others.length === 0 ? eligible : others;
}
