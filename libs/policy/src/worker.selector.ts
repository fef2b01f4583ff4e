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

/** Nobody, and why. */
type Nobody = Exclude<SelectionOutcome, { readonly kind: 'selected' }>;

const UNAVAILABLE: Nobody = Object.freeze({ kind: 'no_candidates', cause: 'unavailable' });
const DECLINED: SelectionOutcome = Object.freeze({ kind: 'no_candidates', cause: 'declined' });

/** Label of selections that no policy made. */
const LEAST_BUSY = 'least_busy';

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
    const eligible = this.eligible(pool, context);
    return 'kind' in eligible ? eligible : this.pick(pool, eligible, context, avoid);
  }

  /**
   * The workers of `pool` that are available and pass every filter, or why there are none. For whoever
   * must know more than one leg before picking: call it once per attempt and leg, then {@link pick}.
   * @throws GatewayError `filter_failed`
   */
  eligible(pool: WorkerPoolView, context: SelectionContext): readonly WorkerView[] | Nobody {
    const available = pool.available();
    if (available.length === 0) {
      this.policies.policyFor(pool.model, context.leg).onNobody?.();
      return UNAVAILABLE;
    }
    return this.filters.apply(available, context);
  }

  /**
   * Picks one of `eligible`, never empty: the target worker, the sticky key's or the policy's.
   * @throws GatewayError `policy_failed`
   */
  pick(
    pool: WorkerPoolView,
    eligible: readonly WorkerView[],
    context: SelectionContext,
    avoid?: WorkerView,
  ): SelectionOutcome {
    const policy = this.policies.policyFor(pool.model, context.leg);
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

  /** A conversation is over: its key is no worker's any more. */
  forgetKey(key: string): void {
    this.sticky?.forgetKey(key);
    this.policies.forgetKey(key);
  }

  /** Whether the policy of a model goes by what is in bodies. */
  readsBody(model: string): boolean {
    return this.policies.policyFor(model).readsBody !== false;
  }

  /**
   * Picks the worker with the fewest requests in flight, whatever the policy: for sessions, where nothing
   * is known that a policy could go by.
   * @throws GatewayError `filter_failed`
   */
  leastBusy(pool: WorkerPoolView, context: SelectionContext): SelectionOutcome {
    const available = pool.available();
    if (available.length === 0) return UNAVAILABLE;
    const eligible = this.filters.apply(available, context);
    if (isAllFiltered(eligible)) return eligible;
    const worker = leastBusyOf(eligible);
    return worker === undefined
      ? UNAVAILABLE
      : this.counter.selected(worker, pool.model, LEAST_BUSY);
  }
}

/** The one with the fewest requests in flight; the first of several. */
function leastBusyOf(candidates: readonly WorkerView[]): WorkerView | undefined {
  let found: WorkerView | undefined;
  for (const worker of candidates) {
    if (found === undefined || worker.load < found.load) found = worker;
  }
  return found;
}

function without(eligible: readonly WorkerView[], avoid: WorkerView): readonly WorkerView[] {
  const others = eligible.filter((worker) => worker !== avoid);
  return others.length === 0 ? eligible : others;
}
