import { type SelectionContext, type WorkerView } from '@smg/plugin-api';
import { TARGET_WORKER } from '@smg/protocol';

/** A decimal index of at most nine digits; anything else names no worker. */
const INDEX = /^[0-9]{1,9}$/;

/** What the target-worker header asks for. */
export type TargetAnswer =
  /** No header: the policy decides. */
  | 'absent'
  /** The worker named is not among those that may serve: refuse, never take another. */
  | 'refused';

/**
 * The worker named by `x-smg-target-worker`, an index into the pool as it was before availability
 * and filters narrowed it; so the same index names the same worker while others come and go.
 * @param pool the unfiltered workers.
 * @param candidates those that may serve this request.
 */
export function resolveTargetWorker(
  pool: readonly WorkerView[],
  candidates: readonly WorkerView[],
  context: SelectionContext,
): WorkerView | TargetAnswer {
  const value = context.header(TARGET_WORKER);
  if (value === undefined || value === '') return 'absent';
  if (!INDEX.test(value)) return 'refused';
  const worker = pool[Number(value)];
  return worker !== undefined && candidates.includes(worker) ? worker : 'refused';
}
