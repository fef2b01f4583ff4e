import {
  ERROR_CODE,
  GatewayError,
  PREEMPTED,
  REQUEST_ID,
  renderErrorEnvelope,
  renderParseError,
  renderServingUnauthorized,
  isGatewayError,
} from '@smg/protocol';
import { type UpstreamFailure } from '@smg/upstream';

/** A gateway-made answer, ready to be stamped and written. */
export interface GatewayReply {
  readonly status: number;
  /** Flat list without framing; the writer adds Content-Length. */
  readonly headers: string[];
  readonly body: string;
}

/** Renders an error in the envelope its code calls for. */
export function replyOf(error: GatewayError, requestId: string): GatewayReply {
  const headers = ['content-type', 'application/json', REQUEST_ID, requestId];
  if (error.retryAfterSecs !== undefined) headers.push('retry-after', String(error.retryAfterSecs));
  return { status: error.status, headers, body: bodyOf(error, headers) };
}

function bodyOf(error: GatewayError, headers: string[]): string {
  // The contract: a body that cannot be parsed has its own shape and no code header.
  if (error.code === 'json_parse_error') return renderParseError(error.message);
  if (error.code === 'invalid_api_key') {
    headers.push('www-authenticate', 'Bearer');
    return renderServingUnauthorized(error.message);
  }
  headers.push(ERROR_CODE, error.code);
  if (error.code === 'scheduler_preempted') headers.push(PREEMPTED, 'true');
  return renderErrorEnvelope(error.status, error.code, error.message);
}

/** What a failed exchange means before a byte of the answer was seen, or inside a broken one. */
export function upstreamError(failure: UpstreamFailure, url: string): GatewayError {
  const code =
    failure.kind === 'invalid' ? 'upstream_invalid_response' : 'call_upstream_request_error';
  return new GatewayError(code, `${url}: ${failure.message}`, { cause: failure.cause });
}

/** Any thrown value as an error with a code; a stranger becomes `internal_error` without details. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  return new GatewayError('internal_error', 'the gateway failed to handle this request', {
    cause: thrown,
  });
}
