import { type SelectionOutcome, type WorkerView } from '@smg/plugin-api';

/** The outcome "filters left nobody" of a {@link SelectionOutcome}. */
export type AllFiltered = Extract<SelectionOutcome, { readonly kind: 'all_filtered' }>;

/** Tells the two answers of the filter chain apart. */
export function isAllFiltered(answer: readonly WorkerView[] | AllFiltered): answer is AllFiltered {
  return !Array.isArray(answer);
}
