import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiResponse, ApiSchema } from '@nestjs/swagger';
import { ERROR_CODE, ERROR_CODES, type ErrorCode } from '@smg/protocol';

@ApiSchema({ name: 'ErrorDetail' })
export class ErrorDetailModel {
  @ApiProperty({ type: 'string', description: 'Text of the status, or the kind of the error.' })
  readonly type!: string;
  @ApiProperty({ type: 'string', description: 'Stable code.', example: 'model_not_found' })
  readonly code!: string;
  @ApiProperty({ type: 'string', description: 'For people; the wording may change.' })
  readonly message!: string;
  @ApiProperty({ type: 'string', nullable: true, required: false, description: 'Always null.' })
  readonly param?: null;
}

/** An error of the gateway itself on the serving plane; an engine's own is relayed as it is. */
@ApiSchema({ name: 'Error' })
export class ErrorModel {
  @ApiProperty({ type: () => ErrorDetailModel })
  readonly error!: ErrorDetailModel;
}

/** These have a shape of their own and no header. */
const HEADERLESS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'json_parse_error',
  'route_not_supported',
]);

/** Documents codes of the table, one entry per status with the codes it may carry. */
export function Errors(...codes: readonly ErrorCode[]): MethodDecorator {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERROR_CODES[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ...[...byStatus].map(([status, known]) =>
      ApiResponse({
        status,
        type: ErrorModel,
        description: known.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n\n'),
        ...(known.every((code) => HEADERLESS.has(code))
          ? {}
          : {
              headers: {
                [ERROR_CODE]: { schema: { type: 'string' as const }, description: 'The code.' },
              },
            }),
      }),
    ),
  );
}

/** What a request to a pair of prefill and decode workers may fail with besides. */
const PAIR_ERRORS = [
  'prefill_bad_request',
  'decode_bad_request',
  'prefill_not_found',
  'decode_not_found',
  'prefill_internal_error',
  'decode_internal_error',
  'prefill_error',
  'decode_error',
  'route_not_supported',
  'prefill_bad_gateway',
  'decode_bad_gateway',
  'prefill_request_failed',
  'prefill_read_failed',
  'prefill_upstream_error',
  'decode_request_failed',
  'decode_read_failed',
  'server_selection_failed',
  'prefill_unavailable',
  'decode_unavailable',
] as const satisfies readonly ErrorCode[];

/** What a request to an engine may fail with before or at the engine. */
export const INFERENCE_ERRORS = [
  'json_parse_error',
  'request_body_aborted',
  'model_not_found',
  'request_body_stalled',
  'request_body_too_large',
  'tenant_rate_limit_exceeded',
  'admission_queue_full',
  'scheduler_queue_full',
  'internal_error',
  'filter_failed',
  'policy_failed',
  'read_response_body_failed',
  'call_upstream_request_error',
  'upstream_invalid_response',
  'upstream_empty_response',
  'upstream_response_too_large',
  'no_available_workers',
  'workers_filtered',
  'admission_queue_timeout',
  'scheduler_queue_timeout',
  'scheduler_preempted',
  'service_unavailable',
  'connection_limit_reached',
  'call_upstream_timeout',
  'loop_detected',
  ...PAIR_ERRORS,
] as const satisfies readonly ErrorCode[];

/** What an information route may fail with. */
export const RELAY_ERRORS = [
  'internal_error',
  'read_response_failed',
  'call_upstream_request_error',
  'upstream_invalid_response',
  'upstream_response_too_large',
  'no_workers',
  'connection_limit_reached',
  'call_upstream_timeout',
  'loop_detected',
] as const satisfies readonly ErrorCode[];
