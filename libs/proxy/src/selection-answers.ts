import { GatewayError } from '@smg/protocol';
import {
  type SelectionOutcome,
  type WorkerDirectory,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { type RunServices } from './run.services';

/** What an overload answer needs. */
type ShedServices = Pick<RunServices, 'metrics' | 'options'>;

/** When the next load reports are due, in seconds. */
const DEFAULT_INTERVAL_SECS = 10;

/** The 503 while every worker of the pool is up and overloaded; undefined when it is not that. */
export function shedAtSelection(
  pool: WorkerPoolView,
  outcome: SelectionOutcome,
  services: ShedServices,
): GatewayError | undefined {
  if (outcome.kind !== 'no_candidates' || pool.workers.length === 0) return undefined;
  for (const worker of pool.workers) if (!isOverloaded(worker)) return undefined;
  services.metrics.shed('selection');
  return overloadAnswer(`All workers for model '${pool.model}' are overloaded`, services);
}

/** The 503 for a worker that was chosen and flagged before the request could be sent. */
export function shedAtDispatch(
  worker: WorkerView,
  services: ShedServices,
): GatewayError | undefined {
  if (!isOverloaded(worker)) return undefined;
  services.metrics.shed('dispatch');
  return overloadAnswer(`Worker ${worker.url} is overloaded`, services);
}

/** Ready in status but not ready to take a request: only overload makes that difference. */
const isOverloaded = (worker: WorkerView): boolean => worker.status === 'ready' && !worker.isReady;

function overloadAnswer(message: string, { options }: ShedServices): GatewayError {
  const retryAfterSecs = options.loadMonitorIntervalSecs ?? DEFAULT_INTERVAL_SECS;
  return new GatewayError('no_available_workers', message, { retryAfterSecs });
}

/** The 503 of a selection that chose nobody, for another reason than overload. */
export function describeNobody(
  pool: WorkerPoolView,
  outcome: Exclude<SelectionOutcome, { kind: 'selected' }>,
): GatewayError {
  if (outcome.kind === 'all_filtered') {
    const message = `no worker is eligible for model '${pool.model}': ${outcome.reason}`;
    return new GatewayError(outcome.code, message);
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
