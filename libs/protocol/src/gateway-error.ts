import { ERROR_CODES, type ErrorCode, type ErrorLevel } from './error-codes';

const BRAND = Symbol.for('smg.gateway-error');

/** Extras of a {@link GatewayError}. */
export interface GatewayErrorOptions {
  /** What caused it; logged, never sent. */
  readonly cause?: unknown;
  /** Seconds for a `Retry-After` header. */
  readonly retryAfterSecs?: number;
  /** In place of the table's status; only for a code that passes on a worker's own. */
  readonly status?: number;
}

/**
 * An error with a stable code. Recognised across copies of this package by a global symbol, so a
 * plugin that bundles its own copy still throws errors the gateway understands.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  /** HTTP status; the table's, unless the code passes on another. */
  readonly status: number;
  readonly level: ErrorLevel;
  readonly retryAfterSecs: number | undefined;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_CODES[code].status;
    this.level = ERROR_CODES[code].level;
    this.retryAfterSecs = options.retryAfterSecs;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Whether `value` is a {@link GatewayError} of any copy of this package. */
export function isGatewayError(value: unknown): value is GatewayError {
  return typeof value === 'object' && value !== null && BRAND in value;
}
