import {
  type CandidateFilter,
  type HeaderReader,
  type RequestRefusal,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { GatewayError } from '@smg/protocol';
import { type AllFiltered } from './all-filtered';

// One run of the filter chain. Law: filters narrow and nothing else; whatever breaks that law, or
// throws, fails the request (`filter_failed`) rather than letting an unchecked worker through.

function failed(filter: CandidateFilter, what: string, cause?: unknown): GatewayError {
  return new GatewayError('filter_failed', `candidate filter '${filter.name}' ${what}`, { cause });
}

/** Whether `narrowed` is a subsequence of `given`. */
function isSubsequence(narrowed: readonly WorkerView[], given: readonly WorkerView[]): boolean {
  let at = 0;
  for (const worker of narrowed) {
    while (at < given.length && given[at] !== worker) at++;
    if (at === given.length) return false;
    at++;
  }
  return true;
}

/** Survivors of one filter. @throws GatewayError `filter_failed` */
export function runFilter(
  filter: CandidateFilter,
  given: readonly WorkerView[],
  context: SelectionContext,
): readonly WorkerView[] {
  let kept: readonly WorkerView[];
  try {
    kept = filter.filter(given, context);
  } catch (cause) {
    throw failed(filter, 'threw', cause);
  }
  if (kept === given) return kept;
  const answer: unknown = kept;
  if (!Array.isArray(answer)) throw failed(filter, 'did not return an array');
  if (kept.length > given.length || !isSubsequence(kept, given)) {
    throw failed(filter, 'returned workers it was not given, or changed their order');
  }
  return kept;
}

/** What one filter says to a request's headers. @throws GatewayError `filter_failed` */
export function askRefusal(
  filter: CandidateFilter,
  header: HeaderReader,
): RequestRefusal | undefined {
  try {
    return filter.refuse?.(header);
  } catch (cause) {
    throw failed(filter, "threw at a request's headers", cause);
  }
}

/** Says, once nobody is left, which code the client gets and why. The cold path: it may allocate. */
export function explainExhaustion(
  filters: readonly CandidateFilter[],
  candidates: readonly WorkerView[],
  context: SelectionContext,
): AllFiltered {
  const reasons: string[] = [];
  let code: AllFiltered['code'] = 'no_available_workers';
  let given = candidates;
  for (const filter of filters) {
    const survivors = given.length === 0 ? given : runFilter(filter, given, context);
    if (survivors.length < given.length) reasons.push(reasonOf(filter, given, survivors, context));
    given = survivors;
    if (
      code !== 'workers_filtered' &&
      filter.exhaustedCode !== 'no_available_workers' &&
      runFilter(filter, candidates, context).length === 0
    ) {
      code = 'workers_filtered';
    }
  }
  return { kind: 'all_filtered', code, reason: reasons.join(', ') };
}

function reasonOf(
  filter: CandidateFilter,
  given: readonly WorkerView[],
  survivors: readonly WorkerView[],
  context: SelectionContext,
): string {
  let own: string | undefined;
  try {
    own = filter.explain?.(given, context);
  } catch (cause) {
    throw failed(filter, 'threw while it explained', cause);
  }
  if (own !== undefined && own !== '') return own;
  return `${given.length - survivors.length} excluded by filter '${filter.name}'`;
}
