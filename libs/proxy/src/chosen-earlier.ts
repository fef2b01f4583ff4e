import { type SelectionOutcome, type WorkerPoolView, type WorkerView } from '@smg/plugin-api';
import { type InferenceExchange } from './inference.exchange';
import { type RunServices } from './run.services';

/** The pool of one worker, which is available whatever else is true of it. */
class PoolOfOne implements WorkerPoolView {
  readonly workers: readonly WorkerView[];

  constructor(
    readonly model: string,
    worker: WorkerView,
  ) {
    this.workers = [worker];
  }

  available(): readonly WorkerView[] {
    return this.workers;
  }
}

/**
 * Asks the filters anew of a worker that was chosen some time ago: an engine that was paused since gets
 * no request. Filters alone: one that is leaving still serves what it was chosen for.
 * @returns why it may not serve any more.
 * @throws GatewayError `filter_failed`
 */
export function refusalOfChosen(
  { selector }: Pick<RunServices, 'selector'>,
  exchange: InferenceExchange,
  worker: WorkerView,
): Exclude<SelectionOutcome, { readonly kind: 'selected' }> | undefined {
  const { workerType } = worker;
  exchange.leg = workerType === 'prefill' || workerType === 'decode' ? workerType : 'regular';
  const outcome = selector.eligible(new PoolOfOne(exchange.model, worker), exchange);
  return 'kind' in outcome ? outcome : undefined;
}

/** Whether a request that a dead connection lost may be written to the same worker again. */
export function mayResend(
  services: Pick<RunServices, 'selector'>,
  exchange: InferenceExchange,
  worker: WorkerView,
): boolean {
  // Nobody filters who is asked about itself.
  if (exchange.endpoint === 'info') return true;
  try {
    return refusalOfChosen(services, exchange, worker) === undefined;
  } catch {
    // The next selection says what is wrong with the filter.
    return false;
  }
}
