import { type WorkerType } from '@smg/protocol';
import { type OverloadLimits } from './overload';

/** A worker named at start-up. */
export interface StartupWorker {
  readonly url: string;
  readonly workerType: WorkerType;
  readonly bootstrapPort?: number | undefined;
}

/** Retry and breaker settings; per-worker `resilience` wins over them. Durations as named. */
export interface ResilienceOptions {
  /** Attempts in all, >= 1. */
  readonly maxRetries: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  /** 0..1 */
  readonly jitterFactor: number;
  readonly disableRetries: boolean;
  readonly cbFailureThreshold: number;
  readonly cbSuccessThreshold: number;
  readonly cbTimeoutSecs: number;
  readonly disableCircuitBreaker: boolean;
  readonly retryableStatusCodes: readonly number[];
  /** Statuses that say "busy": the breaker counts them as neither good nor bad. */
  readonly capacityStatusCodes: readonly number[];
}

export interface HealthOptions {
  /** Path probed on every engine. */
  readonly endpoint: string;
  readonly timeoutSecs: number;
  readonly intervalSecs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  readonly isDisabled: boolean;
}

/** What engines are asked about their load. */
export interface LoadOptions {
  /** Seconds between two questions to an engine, >= 1. */
  readonly intervalSecs: number;
  /**
   * Ask from the start. Otherwise an engine is asked once a policy wants a report of it, and while
   * its workers have overload limits.
   */
  readonly isWanted: boolean;
  /** Export the reports as `smg_engine_*`; asks from the start. */
  readonly engineMetrics: boolean;
  /** Limits of workers that bring none of their own; undefined: those are not protected. */
  readonly overload?: OverloadLimits | undefined;
}

/** Everything the registry is told at start-up. */
export interface RegistryOptions {
  readonly startupWorkers: readonly StartupWorker[];
  /** Given to start-up workers as their own key. */
  readonly apiKey?: string | undefined;
  /** Engine adapter every start-up worker runs on; detected when left out. */
  readonly runtime?: string | undefined;
  readonly startupTimeoutSecs: number;
  readonly startupDelaySecs: number;
  readonly startupCheckIntervalSecs: number;
  /** How long a registration over the API is waited for when its client says nothing of it; 0: not at all. */
  readonly registrationWaitSecs: number;
  readonly jobQueueCapacity: number;
  readonly jobQueueConcurrency: number;
  /** One worker per data-parallel rank. */
  readonly dpAware: boolean;
  /** alias → canonical model id. */
  readonly modelAliases: Readonly<Record<string, string>>;
  readonly health: HealthOptions;
  readonly removeUnhealthyWorkers: boolean;
  /** 0 removes at once. */
  readonly drainSettleSecs: number;
  readonly resilience: ResilienceOptions;
  readonly loads: LoadOptions;
  /** Budget of one upstream attempt, body included. */
  readonly requestTimeoutSecs: number;
  /** Readiness needs a ready prefill and a ready decode worker. */
  readonly isPrefillDecode: boolean;
}

/** Defaults of the command line. Source: SMG contract 1.2. */
export const DEFAULT_REGISTRY_OPTIONS: RegistryOptions = {
  startupWorkers: [],
  startupTimeoutSecs: 1800,
  startupDelaySecs: 0,
  startupCheckIntervalSecs: 30,
  registrationWaitSecs: 0,
  jobQueueCapacity: 1000,
  jobQueueConcurrency: 200,
  dpAware: false,
  modelAliases: {},
  health: {
    endpoint: '/health',
    timeoutSecs: 5,
    intervalSecs: 60,
    successThreshold: 2,
    failureThreshold: 3,
    isDisabled: false,
  },
  removeUnhealthyWorkers: false,
  drainSettleSecs: 5,
  resilience: {
    maxRetries: 5,
    initialBackoffMs: 50,
    maxBackoffMs: 30_000,
    backoffMultiplier: 1.5,
    jitterFactor: 0.2,
    disableRetries: false,
    cbFailureThreshold: 10,
    cbSuccessThreshold: 3,
    cbTimeoutSecs: 60,
    disableCircuitBreaker: false,
    retryableStatusCodes: [408, 429, 500, 502, 503, 504],
    capacityStatusCodes: [429],
  },
  loads: { intervalSecs: 10, isWanted: false, engineMetrics: false },
  requestTimeoutSecs: 1800,
  isPrefillDecode: false,
};
