/**
 * The one table of error codes the gateway mints. `docs/reference/errors.md` lists exactly these
 * (a contract test compares both ways). Codes are stable API; statuses follow the SMG contract and
 * the decisions listed in docs/reference/compatibility.md.
 */

/** Level an occurrence is logged at. */
export type ErrorLevel = 'debug' | 'info' | 'warn' | 'error';

/** What one code means on the wire. */
export interface ErrorCodeEntry {
  /** HTTP status sent with the code. */
  readonly status: number;
  readonly level: ErrorLevel;
  /** One sentence for the reference page. */
  readonly meaning: string;
}

const entry = (status: number, level: ErrorLevel, meaning: string): ErrorCodeEntry => ({
  status,
  level,
  meaning,
});

export const ERROR_CODES = {
  json_parse_error: entry(
    400,
    'info',
    'The body is not JSON, or a field the gateway routes by is missing or has the wrong type.',
  ),
  missing_model: entry(400, 'info', 'The request names no model and no default router serves it.'),
  invalid_request: entry(400, 'info', 'The request cannot be understood as sent.'),
  request_body_aborted: entry(400, 'info', 'The client closed before its body was complete.'),
  invalid_api_key: entry(401, 'info', 'The serving key is missing or unknown.'),
  not_found: entry(404, 'info', 'No stored response has this id, or it is not yours.'),
  missing_credentials: entry(
    401,
    'info',
    'A realtime call carries no credentials, and the worker has no key of its own.',
  ),
  model_not_found: entry(404, 'info', 'No registered worker serves this model.'),
  request_body_stalled: entry(408, 'info', 'The client paused its upload for too long.'),
  request_uri_too_long: entry(414, 'info', 'The request target is longer than 16 KiB.'),
  request_body_too_large: entry(413, 'info', 'The body is larger than --max-payload-size.'),
  upgrade_required: entry(426, 'info', 'The route speaks WebSocket, and the request does not.'),
  tenant_rate_limit_exceeded: entry(
    429,
    'info',
    "The tenant's budget of requests or tokens per minute does not allow the request.",
  ),
  admission_queue_full: entry(
    429,
    'info',
    'As many requests are in flight and waiting as --max-concurrent-requests and --queue-size allow.',
  ),
  scheduler_queue_full: entry(
    429,
    'info',
    "Nothing is free for the request's priority class, and its queue is full.",
  ),
  scheduler_client_cancelled: entry(
    499,
    'info',
    'In logs and metrics only: the client left before its turn came.',
  ),
  internal_error: entry(500, 'error', 'A fault of the gateway itself; the log has the cause.'),
  storage_error: entry(
    500,
    'error',
    'The store of responses and conversations failed or did not answer in time.',
  ),
  filter_failed: entry(500, 'error', 'A candidate filter threw; the request was refused.'),
  policy_failed: entry(
    500,
    'error',
    'A routing policy threw or returned a worker it was not given.',
  ),
  rerank_response_build_failed: entry(
    500,
    'warn',
    "The worker's answer is no ranking, so that the gateway cannot build its own of it.",
  ),
  read_response_failed: entry(500, 'warn', "A worker's information answer could not be read."),
  read_response_body_failed: entry(
    500,
    'warn',
    "The worker's answer broke off after its head and before anything was sent on.",
  ),
  call_upstream_request_error: entry(
    502,
    'warn',
    'The worker could not be reached, or closed before it answered.',
  ),
  upstream_invalid_response: entry(502, 'warn', "The worker's answer is not valid HTTP."),
  upstream_empty_response: entry(
    502,
    'warn',
    'The worker answered a streaming request with success and no body.',
  ),
  upstream_response_too_large: entry(
    502,
    'warn',
    "The worker's answer is larger than --max-payload-size.",
  ),
  upstream_stream_truncated: entry(
    502,
    'warn',
    'Sent as the last event of a stream whose worker died: the answer is incomplete.',
  ),
  prefill_bad_request: entry(400, 'info', 'Prefill/decode: the prefill worker answered 400.'),
  decode_bad_request: entry(400, 'info', 'Prefill/decode: the decode worker answered 400.'),
  prefill_not_found: entry(404, 'info', 'Prefill/decode: the prefill worker answered 404.'),
  decode_not_found: entry(404, 'info', 'Prefill/decode: the decode worker answered 404.'),
  prefill_internal_error: entry(500, 'warn', 'Prefill/decode: the prefill worker answered 500.'),
  decode_internal_error: entry(500, 'warn', 'Prefill/decode: the decode worker answered 500.'),
  prefill_error: entry(
    500,
    'warn',
    'Prefill/decode: the prefill worker answered with another status than success.',
  ),
  decode_error: entry(
    500,
    'warn',
    'Prefill/decode: the decode worker answered with another status than success.',
  ),
  route_not_supported: entry(
    501,
    'info',
    'Prefill/decode: no pair of workers can serve this route. Answered in plain text.',
  ),
  prefill_bad_gateway: entry(502, 'warn', 'Prefill/decode: the prefill worker answered 502.'),
  decode_bad_gateway: entry(502, 'warn', 'Prefill/decode: the decode worker answered 502.'),
  prefill_request_failed: entry(
    502,
    'warn',
    'Prefill/decode with vLLM: the prefill worker could not be reached, or closed before it answered.',
  ),
  prefill_read_failed: entry(
    502,
    'warn',
    'Prefill/decode: the answer of the prefill worker broke off.',
  ),
  prefill_upstream_error: entry(
    502,
    'warn',
    "Prefill/decode with vLLM: the prefill worker refused; the status is the worker's own.",
  ),
  decode_request_failed: entry(
    502,
    'warn',
    'Prefill/decode with vLLM: the decode worker could not be reached, or closed before it answered.',
  ),
  decode_read_failed: entry(
    502,
    'warn',
    'Prefill/decode: the error answer of the decode worker broke off.',
  ),
  no_worker_response: entry(502, 'warn', 'A call to every worker was answered by none of them.'),
  no_available_workers: entry(
    503,
    'warn',
    'Workers serve this model, but none can take the request now.',
  ),
  jwks_unavailable: entry(
    503,
    'warn',
    "The token issuer's keys are too old to be trusted and cannot be fetched.",
  ),
  audit_unavailable: entry(
    503,
    'error',
    'The record of a control call could not be made durable, and --audit-required is given.',
  ),
  server_selection_failed: entry(
    503,
    'warn',
    'Prefill/decode: no pair of a prefill and a decode worker can take the request now.',
  ),
  prefill_unavailable: entry(503, 'warn', 'Prefill/decode: the prefill worker answered 503.'),
  decode_unavailable: entry(503, 'warn', 'Prefill/decode: the decode worker answered 503.'),
  no_workers: entry(503, 'warn', 'No worker is ready.'),
  workers_filtered: entry(
    503,
    'warn',
    "Workers are available, but this request's own requirements exclude all of them.",
  ),
  admission_queue_timeout: entry(
    503,
    'warn',
    'The request waited for --queue-timeout-secs, and no other one ended.',
  ),
  scheduler_queue_timeout: entry(
    503,
    'warn',
    'The request waited as long as its priority class allows.',
  ),
  scheduler_preempted: entry(
    503,
    'info',
    'The request was stopped, before a byte of its answer, for one of a higher priority class.',
  ),
  service_unavailable: entry(503, 'info', 'The process ends, and the request would have to wait.'),
  connection_limit_reached: entry(
    503,
    'warn',
    'The process is near its limit of open files; retry elsewhere or later.',
  ),
  call_upstream_timeout: entry(504, 'warn', 'The worker did not answer within the deadline.'),
  loop_detected: entry(
    508,
    'warn',
    "The request came back to the gateway that sent it: a worker's URL leads here.",
  ),
} as const satisfies Record<string, ErrorCodeEntry>;

/** A code of the table. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Codes of the worker API, which has its own envelope `{"error","code"}`. */
export const WORKER_API_CODES = {
  BAD_REQUEST: entry(400, 'info', 'The URL, the id or a field is not acceptable.'),
  WORKER_NOT_FOUND: entry(404, 'info', 'No worker and no pending registration has this id.'),
  WORKER_ALREADY_EXISTS: entry(409, 'info', 'A worker with this URL is already registered.'),
  INTERNAL_SERVER_ERROR: entry(500, 'error', 'The job queue is full or closed.'),
  WORKER_REGISTRATION_FAILED: entry(
    502,
    'warn',
    'The registration that the client waited for has failed; the message says why.',
  ),
} as const satisfies Record<string, ErrorCodeEntry>;

/** A code of the worker API. */
export type WorkerApiCode = keyof typeof WORKER_API_CODES;
