/** What the application tells this lib. Token: {@link UPSTREAM_OPTIONS}. */
export interface UpstreamOptions {
  /** Seconds an idle connection to an engine is kept (`--upstream-pool-idle-timeout-secs`); 0 keeps it for good. */
  readonly poolIdleTimeoutSecs: number;
  /** Milliseconds a connect, TLS included, may take. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Idle connections kept per engine. Default 500. */
  readonly maxIdlePerEngine?: number;
}

/** Token of {@link UpstreamOptions}. */
export const UPSTREAM_OPTIONS = 'smg:upstream-options';
