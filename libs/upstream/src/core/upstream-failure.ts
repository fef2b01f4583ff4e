/** Why an exchange with an engine failed. */
export type UpstreamFailureKind =
  /** No connection: refused, unreachable, name unknown, connect timed out, TLS refused. */
  | 'connect'
  /** The connection ended or was reset before the answer was complete. */
  | 'reset'
  /** The answer is not HTTP/1.1, or has a status the gateway cannot relay. */
  | 'invalid';

/** A failed exchange. `message` is safe to log and to send: no credentials, no stack. */
export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  readonly message: string;
  /** The client library's error, for the log. */
  readonly cause?: unknown;
}

/** Codes of the socket and of undici that mean "never connected". */
const CONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENFILE',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
]);

/**
 * Failures before the engine could read a request, told in words: a code of OpenSSL says little to an
 * operator. Alerts come after the handshake with TLS 1.3, and still nothing was read.
 */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_WORKER_ADDRESS_REFUSED: 'the address is not one workers may have',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate of an unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate of an unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate of an unknown authority',
  CERT_SIGNATURE_FAILURE: 'certificate of an unknown authority',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the engine does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the engine does not speak TLS',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the engine asks for a client certificate',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'the engine refused the handshake',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: 'the engine refused the client certificate',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'the engine refused the client certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: 'the engine refused the client certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'the engine refused the client certificate',
};

const INVALID_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_INVALID_ARG',
]);

function textOf(error: unknown, key: 'code' | 'message' | 'name'): string {
  if (typeof error !== 'object' || error === null) return '';
  const value = (error as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : '';
}

/** Several addresses tried: the first error says more than the wrapper. */
function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error;
}

/**
 * Sorts an error of the HTTP client.
 * @param connected whether the request was written to a connected socket.
 * @param headSeen whether a complete response head was read.
 */
export function classifyUpstreamError(
  error: unknown,
  connected: boolean,
  headSeen: boolean,
): UpstreamFailure {
  const inner = innermost(error);
  const code = textOf(inner, 'code');
  const text = textOf(inner, 'message');
  // The parser's error does not always carry a code.
  if (textOf(inner, 'name') === 'HTTPParserError' || INVALID_CODES.has(code)) {
    return { kind: 'invalid', message: 'the answer is not valid HTTP', cause: error };
  }
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !headSeen) {
    // The parser refused the head, Content-Length beside Transfer-Encoding for one.
    return { kind: 'invalid', message: 'the answer is not framed as HTTP demands', cause: error };
  }
  if (text === 'bad response' || text === 'bad upgrade') {
    return { kind: 'invalid', message: `unexpected protocol switch (${text})`, cause: error };
  }
  const refusal = headSeen ? undefined : REFUSALS[code];
  if (refusal !== undefined) {
    return { kind: 'connect', message: describe(`cannot connect: ${refusal}`, code), cause: error };
  }
  if (!connected || CONNECT_CODES.has(code)) {
    return { kind: 'connect', message: describe('cannot connect', code), cause: error };
  }
  return { kind: 'reset', message: describe('connection lost', code), cause: error };
}

function describe(what: string, code: string): string {
  return code === '' ? what : `${what} (${code})`;
}

/** Whether a status can be relayed. 1xx are handled before; outside 200..599 nothing is meant. */
export function isRelayableStatus(status: number): boolean {
  return status >= 200 && status <= 599;
}
