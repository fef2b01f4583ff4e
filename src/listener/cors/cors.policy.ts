import {
  ERROR_CODE,
  MIXED_VERSION,
  REQUEST_ID,
  ROUTED_WORKER_ID,
  VERSION_POLICY,
  WEIGHT_VERSION,
  WEIGHT_VERSION_START,
} from '@smg/protocol';

/** Flat lists of names and values that a request with an `Origin` gets. */
export interface CorsHeaders {
  /** For every answer. */
  readonly answer: readonly string[];
  /** For the answer to a preflight, the list above included. */
  readonly preflight: readonly string[];
}

const METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS = `content-type, authorization, ${VERSION_POLICY}`;
const EXPOSED = [
  REQUEST_ID,
  ROUTED_WORKER_ID,
  WEIGHT_VERSION,
  WEIGHT_VERSION_START,
  MIXED_VERSION,
  ERROR_CODE,
].join(', ');
/** Seconds for which a browser need not ask again. */
const MAX_AGE = '3600';

const VARY = ['vary', 'Origin'];

/** What everyone gets when no origins are configured. Browsers do not count authorization to `*`. */
const ANY: CorsHeaders = headersOf(
  ['access-control-allow-origin', '*', 'access-control-expose-headers', '*'],
  '*',
  '*, authorization',
);
/** What an origin gets that is not on the list. */
const NONE: CorsHeaders = Object.freeze({ answer: VARY, preflight: VARY });

/**
 * Which pages of other origins a browser lets call, decided before the first request. There is no
 * `access-control-allow-credentials`: keys travel in a header, never in a cookie.
 */
export class CorsPolicy {
  private readonly byOrigin: ReadonlyMap<string, CorsHeaders> | undefined;

  /** @param origins as browsers write them; empty for any. */
  constructor(origins: readonly string[]) {
    if (origins.length === 0) return;
    this.byOrigin = new Map(
      origins.map((origin) => [
        origin,
        headersOf(
          [
            'access-control-allow-origin',
            origin,
            'access-control-expose-headers',
            EXPOSED,
            ...VARY,
          ],
          METHODS,
          REQUEST_HEADERS,
        ),
      ]),
    );
  }

  headersFor(origin: string): CorsHeaders {
    return this.byOrigin === undefined ? ANY : (this.byOrigin.get(origin) ?? NONE);
  }
}

function headersOf(answer: readonly string[], methods: string, requested: string): CorsHeaders {
  return Object.freeze({
    answer: Object.freeze(answer),
    preflight: Object.freeze([
      ...answer,
      'access-control-allow-methods',
      methods,
      'access-control-allow-headers',
      requested,
      'access-control-max-age',
      MAX_AGE,
    ]),
  });
}
