import { type GatewayLog } from './gateway-log';

/** What ObservabilityModule is configured with. */
export interface ObservabilityOptions {
  /** Log to use; one on stdout at level `info` when left out. */
  readonly log?: GatewayLog | undefined;
  /** Port of `/metrics`; no listener when left out. 0 takes any free port. */
  readonly prometheusPort?: number | undefined;
  /** Default 0.0.0.0. */
  readonly prometheusHost?: string | undefined;
  /** Bounds of duration histograms in seconds, ascending; the built-in ones when left out or empty. */
  readonly durationBuckets?: readonly number[] | undefined;
  /** Extra listener for probes on a thread of its own; none when left out. */
  readonly healthCheckPort?: number | undefined;
  /** Default 0.0.0.0. */
  readonly healthCheckHost?: string | undefined;
}

/** Token of the {@link ObservabilityOptions}. */
export const OBSERVABILITY_OPTIONS = 'smg:observability-options';
