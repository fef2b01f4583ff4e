/**
 * Header names of the gateway's own wire, lower case, one constant each.
 * Source: the SMG header index; every `x-smg-*` name a client, an engine or a dashboard may meet.
 */

/** Every header with this prefix belongs to the gateway: neither client nor engine can set one. */
export const SMG_PREFIX = 'x-smg-';

/** Out: URL (with `@rank`) of the worker that produced the answer. */
export const ROUTED_WORKER_ID = 'x-smg-routed-worker-id';
/** Out: stable code of an error the gateway made itself. */
export const ERROR_CODE = 'x-smg-error-code';
/** In, forwarded: routing (sticky) key. */
export const ROUTING_KEY = 'x-smg-routing-key';
/** In: comma list of u32 token ids, a hint for prefix matching. */
export const ROUTING_TOKENS = 'x-smg-routing-tokens';
/** In: index of a worker in the caller's unfiltered slice. */
export const TARGET_WORKER = 'x-smg-target-worker';

/** In: priority class of the request, for the priority scheduler. */
export const PRIORITY = 'x-smg-priority';
/** Out: `true` on the error of a request that was stopped for a more urgent one. */
export const PREEMPTED = 'x-smg-preempted';

/** In: tenant of the request, where the header is trusted; the default of `--tenant-header-name`. */
export const TENANT_ID = 'x-smg-tenant-id';

/** In: version policy of this request, in place of the configured one. */
export const VERSION_POLICY = 'x-smg-version-policy';
/** Out: weight version of the routed engine as the head is written. */
export const WEIGHT_VERSION = 'x-smg-weight-version';
/** Out: weight version of the routed engine at dispatch, when it differs by the time of the head. */
export const WEIGHT_VERSION_START = 'x-smg-weight-version-start';
/** Out: `true` when more than one weight version took part in the answer. */
export const MIXED_VERSION = 'x-smg-mixed-version';

/** Out (and the first default source in): request id. */
export const REQUEST_ID = 'x-request-id';
/** Headers read for a request id when `--request-id-headers` is not given, in order. */
export const DEFAULT_REQUEST_ID_HEADERS: readonly string[] = [
  'x-request-id',
  'x-correlation-id',
  'x-trace-id',
  'request-id',
];
