import { type ErrorCode, GatewayError } from '@smg/protocol';
import { type ProxyOptions } from './proxy.options';

/** Statuses in place of the usual ones. */
export type ChosenStatuses = Pick<ProxyOptions, 'noEligibleStatus' | 'backendFailedStatus'>;

const NO_ELIGIBLE: ReadonlySet<ErrorCode> = new Set([
  'no_available_workers',
  'workers_filtered',
  'no_workers',
  'server_selection_failed',
]);
const BACKEND_FAILURE =
  /^(?:call_upstream_|upstream_|read_response_|(?:prefill|decode)_(?:request|read)_failed$)/;

/** Whether a code says that no worker may take a request now. */
export const isNoEligible = (code: ErrorCode): boolean => NO_ELIGIBLE.has(code);

/** Whether a code says that a worker failed to answer. */
export const isBackendFailure = (code: ErrorCode): boolean => BACKEND_FAILURE.test(code);

/**
 * An error with the status that is configured for its kind: clients that retry by status have their own
 * ideas of what 503 and 504 mean. What a worker answers itself never comes here.
 */
export function withChosenStatus(
  error: GatewayError,
  { noEligibleStatus, backendFailedStatus }: ChosenStatuses,
): GatewayError {
  const { code, message, cause, retryAfterSecs } = error;
  let status: number | undefined;
  if (noEligibleStatus !== undefined && isNoEligible(code)) status = noEligibleStatus;
  if (backendFailedStatus !== undefined && isBackendFailure(code)) status = backendFailedStatus;
  if (status === undefined) return error;
  return new GatewayError(code, message, {
    status,
    cause,
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
  });
}
