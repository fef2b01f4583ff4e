import { type PdOptions } from './pd/pd.options';

/** What the application tells the data plane. Token: {@link PROXY_OPTIONS}. */
export interface ProxyOptions {
  /** Bytes; cap of request bodies and of buffered answers. */
  readonly maxPayloadSize: number;
  /** Seconds the client may pause inside an upload; 0 waits for ever. */
  readonly bodyIdleTimeoutSecs: number;
  /** Seconds a client may stop reading before it is cut; 0 waits for ever. */
  readonly streamStallTimeoutSecs: number;
  /** Bytes above which an upload may pass through unread; 0 or undefined: every body is held. */
  readonly streamRequestBodiesOver?: number;
  /** Seconds without a byte either way after which a realtime socket is closed. Default 600. */
  readonly realtimeIdleTimeoutSecs?: number;
  readonly requestIdHeaders: readonly string[];
  readonly routingKeyHeaders: readonly string[];
  /** `--routing-key-override`: a body's `rid` is a routing key too. Default false. */
  readonly stickyKeys?: boolean;
  /** False runs the same routes through Nest's router: the oracle for tests, and for doubt. */
  readonly hotLane: boolean;
  /** `/generate` without a model is refused with `missing_model`. */
  readonly requireModel: boolean;
  /** One attempt, also while no worker can be selected. */
  readonly retriesDisabled: boolean;
  /** Attempts while no worker can be selected; a selected worker brings its own settings. */
  readonly retry?: SelectionRetry;
  /** Seconds in the `Retry-After` of an overload answer. Default 10. */
  readonly loadMonitorIntervalSecs?: number;
  /** Status in place of the usual one where no worker may take a request. */
  readonly noEligibleStatus?: number | undefined;
  /** The same where a worker failed to answer. */
  readonly backendFailedStatus?: number | undefined;
  /** Pairs of prefill and decode workers; undefined: there are none. */
  readonly pd?: PdOptions | undefined;
  /** Soft limit of open files; undefined asks the system, Infinity switches the guard off. */
  readonly openFileLimit?: number;
}

/** Back-off between tries to select a worker. */
export interface SelectionRetry {
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  readonly jitterFactor: number;
}

/** Defaults of the `--retry-*` options. */
export const DEFAULT_SELECTION_RETRY: SelectionRetry = Object.freeze({
  maxAttempts: 5,
  initialBackoffMs: 50,
  maxBackoffMs: 30_000,
  backoffMultiplier: 1.5,
  jitterFactor: 0.2,
});

/** `--disable-retries`. */
export const ONE_ATTEMPT: SelectionRetry = Object.freeze({
  ...DEFAULT_SELECTION_RETRY,
  maxAttempts: 1,
});

/** Token of {@link ProxyOptions}. */
export const PROXY_OPTIONS = 'smg:proxy-options';
