import { type LookupFunction } from 'node:net';
import { type WorkerTlsFiles } from './core/tls-material';

/** What the application tells this lib. Token: {@link UPSTREAM_OPTIONS}. */
export interface UpstreamOptions {
  /** Seconds an idle connection to an engine is kept (`--upstream-pool-idle-timeout-secs`); 0 keeps it for good. */
  readonly poolIdleTimeoutSecs: number;
  /** Milliseconds a connect, TLS included, may take. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Idle connections kept per engine. Default 500. */
  readonly maxIdlePerEngine?: number;
  /** Read at the start and by the reload `worker-tls`. */
  readonly tls?: WorkerTlsFiles;
  /** Networks workers may be in (`address/bits`); empty means any that is not denied. */
  readonly allowCidrs?: readonly string[];
  /** Networks workers may not be in. */
  readonly denyCidrs?: readonly string[];
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
}

/** Token of {@link UpstreamOptions}. */
export const UPSTREAM_OPTIONS = 'smg:upstream-options';
