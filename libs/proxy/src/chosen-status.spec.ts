import { GatewayError } from '@smg/protocol';
import { type ChosenStatuses, withChosenStatus } from './chosen-status';
import { errorTypeOf } from './error-type';

const chosen = (noEligibleStatus?: number, backendFailedStatus?: number): ChosenStatuses => ({
  noEligibleStatus,
  backendFailedStatus,
});

describe('withChosenStatus', () => {
  it('leaves everything as it is where nothing is chosen', () => {
    const error = new GatewayError('no_available_workers', 'none');
    expect(withChosenStatus(error, chosen())).toBe(error);
  });

  it.each([
    ['no_available_workers', 409],
    ['workers_filtered', 409],
    ['call_upstream_timeout', 500],
    ['call_upstream_request_error', 500],
    ['upstream_invalid_response', 500],
    ['read_response_body_failed', 500],
    ['decode_request_failed', 500],
    ['model_not_found', 404],
    ['internal_error', 500],
    ['json_parse_error', 400],
    ['loop_detected', 508],
  ] as const)('%s is %i with 409 and 500', (code, status) => {
    const error = new GatewayError(code, 'why', { retryAfterSecs: 3 });
    expect(withChosenStatus(error, chosen(409, 500))).toMatchObject({
      status,
      code,
      message: 'why',
      retryAfterSecs: 3,
    });
  });

  it('metrics go by what happened', () => {
    expect(errorTypeOf(409, 'workers_filtered')).toBe('no_workers');
    expect(errorTypeOf(500, 'call_upstream_timeout')).toBe('timeout');
    expect(errorTypeOf(500, 'upstream_empty_response')).toBe('backend_error');
  });
});
