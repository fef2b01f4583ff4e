// Compile-only: `tsc --noEmit` fails when a misuse stops being an error. Nothing runs.

import {
  CANDIDATE_FILTER,
  ROUTING_POLICY,
  type CandidateFilter,
  type RoutingPolicy,
  type SelectionContext,
  type SelectionOutcome,
  type WorkerView,
} from '@smg/plugin-api';

class Good implements CandidateFilter {
  readonly name = 'good';
  readonly order = 300;

  filter(candidates: readonly WorkerView[]): readonly WorkerView[] {
    return candidates;
  }
}
CANDIDATE_FILTER.provide(Good);

class NotAFilter {
  readonly name = 'no';
}
// @ts-expect-error -- a class without filter() and order
CANDIDATE_FILTER.provide(NotAFilter);

// @ts-expect-error -- an instance; register a class or a factory
CANDIDATE_FILTER.provide(new Good());

// @ts-expect-error -- a factory needs a label
CANDIDATE_FILTER.provide({ useFactory: () => new Good() });

// @ts-expect-error -- a policy is registered by its factory
ROUTING_POLICY.provide(Good);

export const asynchronous: CandidateFilter = {
  name: 'asynchronous',
  order: 300,
  // @ts-expect-error -- filters are synchronous
  filter: (candidates) => Promise.resolve(candidates),
};

export const unknownCode: CandidateFilter = {
  name: 'code',
  order: 300,
  // @ts-expect-error -- only the two codes of the contract
  exhaustedCode: 'model_not_found',
  filter: (candidates) => candidates,
};

export const mutating: CandidateFilter = {
  name: 'mutating',
  order: 300,
  filter(candidates) {
    // @ts-expect-error -- candidates are read-only
    candidates.pop();
    return candidates;
  },
};

export const byIndex: RoutingPolicy = {
  name: 'by-index',
  // @ts-expect-error -- a policy returns the worker, not its index
  select: () => 0,
};

export function views(worker: WorkerView, context: SelectionContext): void {
  // @ts-expect-error -- a view is read-only
  worker.load = 1;
  // @ts-expect-error -- labels are read-only
  worker.labels.set('tier', 'gold');
  // @ts-expect-error -- so is the context
  context.model = 'other';
}

export function unwrapped(outcome: SelectionOutcome): WorkerView {
  // @ts-expect-error -- an outcome must be told apart before its worker is read
  return outcome.worker;
}
