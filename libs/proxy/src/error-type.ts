import { type ErrorCode } from '@smg/protocol';
import { isBackendFailure, isNoEligible } from './chosen-status';
import { type RouterErrorType } from './router.metrics';

/** Codes of those that were not let in, or not for long: the router has not failed them. */
const ADMISSION = /^(?:admission_|scheduler_|service_unavailable$)/;

/** How the router's metrics name a failure. @param code of an error of the gateway itself. */
export function errorTypeOf(
  status: number,
  code: ErrorCode | undefined,
): RouterErrorType | undefined {
  if (status < 400 || status === 499) return undefined;
  if (status === 504 || code === 'call_upstream_timeout') return 'timeout';
  if (code === undefined) return status >= 500 ? 'backend_error' : 'validation_error';
  if (ADMISSION.test(code)) return undefined;
  // By their codes: statuses of these may have been chosen.
  if (status === 503 || code === 'model_not_found' || isNoEligible(code)) return 'no_workers';
  if (status === 502 || isBackendFailure(code)) return 'backend_error';
  return status === 500 ? 'internal_error' : 'validation_error';
}
