import { type ErrorCode } from './error-codes';

/** Reason phrases of the statuses the gateway mints; `type` of the envelope. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Reason phrase of a status, `Error` for one the gateway never mints. */
export function reasonPhrase(status: number): string {
  return REASONS[status] ?? 'Error';
}

/** The envelope of a gateway-made error: `{"error":{"type","code","message","param":null}}`. */
export function renderErrorEnvelope(status: number, code: ErrorCode, message: string): string {
  return JSON.stringify({ error: { type: reasonPhrase(status), code, message, param: null } });
}

/** The 400 body of a request that cannot be parsed; no `x-smg-error-code` header goes with it. */
export function renderParseError(message: string): string {
  return JSON.stringify({
    error: { message, type: 'invalid_request_error', code: 'json_parse_error' },
  });
}

/** The 401 body of the serving plane, in the shape OpenAI clients read. */
export function renderServingUnauthorized(message: string): string {
  return JSON.stringify({
    error: { message, type: 'authentication_error', code: 'invalid_api_key' },
  });
}
