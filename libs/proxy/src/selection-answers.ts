import { GatewayError } from '@smg/protocol';
import {
  type SelectionOutcome,
  type WorkerDirectory,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';

/** Every worker of the pool is up, and every one is flagged as overloaded. */
export function isAllOverloaded(pool: WorkerPoolView): boolean {
  if (pool.workers.length === 0) return false;
  for (const worker of pool.workers) if (!isOverloaded(worker)) return false;
  return true;
}

/** Ready in status but not ready to take a request: only overload makes that difference. */
export function isOverloaded(worker: WorkerView): boolean {
  return worker.status === 'ready' && !worker.isReady;
}

/** The 503 for a worker that was chosen, and flagged before the request could be sent. */
export function describeOverloaded(worker: WorkerView, retryAfterSecs: number): GatewayError {
  const message = `worker ${worker.url} is overloaded`;
  return new GatewayError('no_available_workers', message, { retryAfterSecs });
}

/** The 503 of a selection that chose nobody. @param retryAfterSecs set when all are overloaded. */
export function describeNobody(
  pool: WorkerPoolView,
  outcome: Exclude<SelectionOutcome, { kind: 'selected' }>,
  retryAfterSecs: number | undefined,
): GatewayError {
  if (outcome.kind === 'all_filtered') {
    const message = `no worker is eligible for model '${pool.model}': ${outcome.reason}`;
    return new GatewayError(outcome.code, message);
  }
  if (retryAfterSecs !== undefined) {
    const message = `All workers for model '${pool.model}' are overloaded`;
    return new GatewayError('no_available_workers', message, { retryAfterSecs });
  }
  const message =
    outcome.cause === 'unavailable'
      ? 'All workers are unavailable (circuit breaker open or unhealthy)'
      : `no worker is eligible for model '${pool.model}': the routing policy declined`;
  return new GatewayError('no_available_workers', message);
}

/**
 * The first ready worker in registration order; `avoid` only when it is the only one. A worker that is
 * overloaded can still say who it is.
 */
export function firstReady(
  directory: WorkerDirectory,
  avoid: WorkerView | undefined,
): WorkerView | undefined {
  for (const worker of directory.all()) {
    if (worker.status === 'ready' && worker !== avoid) return worker;
  }
  return avoid?.status === 'ready' ? avoid : undefined;
}
