import { type FanoutResult } from './models.js';
import { RlError } from './rl-error.js';

/** Longest list of ids in an error text. */
const MAX_IDS = 10;

/**
 * At least one engine of a fan-out failed; `code` is `fanout_partial`. The engines that did it keep what they did, and
 * {@link result} tells which.
 */
export class FanoutError extends RlError {
  override readonly name: string = 'FanoutError';
  /** The whole report, successes included. */
  readonly result: FanoutResult;

  constructor(result: FanoutResult, status = 207, options?: ErrorOptions) {
    const ids = result.failed.map(({ workerId }) => workerId);
    const more = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : '';
    const message = `${ids.length} of ${result.total} engines failed: ${ids.slice(0, MAX_IDS).join(', ')}${more}`;
    super(status, { error: 'fanout_partial', message }, options);
    this.result = result;
  }
}
