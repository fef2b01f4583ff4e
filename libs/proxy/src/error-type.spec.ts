import { errorTypeOf } from './error-type';

describe('errorTypeOf', () => {
  it.each([
    [200, undefined, undefined],
    [499, undefined, undefined],
    [504, 'call_upstream_timeout', 'timeout'],
    [500, undefined, 'backend_error'],
    [400, undefined, 'validation_error'],
    [503, 'no_available_workers', 'no_workers'],
    [404, 'model_not_found', 'no_workers'],
    [502, 'call_upstream_request_error', 'backend_error'],
    [500, 'read_response_body_failed', 'backend_error'],
    [500, 'internal_error', 'internal_error'],
    [429, 'tenant_rate_limit_exceeded', 'validation_error'],
    [429, 'admission_queue_full', undefined],
    [503, 'scheduler_preempted', undefined],
    [503, 'service_unavailable', undefined],
  ] as const)('%i %s is %s', (status, code, type) => {
    expect(errorTypeOf(status, code)).toBe(type);
  });
});
