import { type HttpPoolWire, type ResilienceWire, type WorkerSpecWire } from '@smg/protocol';
import { type BreakerConfig } from './circuit-breaker';
import { type RegistryOptions, type ResilienceOptions } from './registry-options';
import { type ProbeThresholds } from './status-machine';

/** Retries of requests to one worker: its own settings over the global ones. */
export interface EffectiveRetry {
  /** Attempts in all, >= 1; 1 means no retry. */
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  readonly jitterFactor: number;
}

export interface EffectiveHealth {
  readonly isDisabled: boolean;
  readonly timeoutMs: number;
  readonly intervalMs: number;
  readonly thresholds: ProbeThresholds;
  readonly drainSettleMs: number;
}

/** How one worker is treated, computed once per definition. */
export interface WorkerSettings {
  readonly retry: EffectiveRetry;
  readonly breaker: BreakerConfig;
  readonly retryableStatusCodes: ReadonlySet<number>;
  readonly capacityStatusCodes: ReadonlySet<number>;
  /** Whole upstream attempt, body included. */
  readonly requestTimeoutMs: number;
  /** Connection settings of this worker alone; absent members mean the global ones. */
  readonly httpPool: HttpPoolWire;
  readonly health: EffectiveHealth;
}

const SECOND = 1000;

export function effectiveSettings(spec: WorkerSpecWire, options: RegistryOptions): WorkerSettings {
  const own = spec.resilience ?? {};
  const shared = options.resilience;
  const pool = spec.http_pool ?? {};
  return {
    retry: effectiveRetry(own, shared),
    breaker: effectiveBreaker(own, shared),
    retryableStatusCodes: new Set(own.retryable_status_codes ?? shared.retryableStatusCodes),
    capacityStatusCodes: new Set(own.capacity_status_codes ?? shared.capacityStatusCodes),
    requestTimeoutMs: (pool.timeout_secs ?? options.requestTimeoutSecs) * SECOND,
    httpPool: pool,
    health: effectiveHealth(spec, options),
  };
}

function effectiveRetry(own: ResilienceWire, shared: ResilienceOptions): EffectiveRetry {
  const isOff = own.disable_retry ?? shared.disableRetries;
  return {
    maxAttempts: isOff ? 1 : Math.max(1, own.max_retries ?? shared.maxRetries),
    initialBackoffMs: own.initial_backoff_ms ?? shared.initialBackoffMs,
    maxBackoffMs: own.max_backoff_ms ?? shared.maxBackoffMs,
    backoffMultiplier: own.backoff_multiplier ?? shared.backoffMultiplier,
    jitterFactor: own.jitter_factor ?? shared.jitterFactor,
  };
}

function effectiveBreaker(own: ResilienceWire, shared: ResilienceOptions): BreakerConfig {
  return {
    isEnabled: !(own.disable_circuit_breaker ?? shared.disableCircuitBreaker),
    failureThreshold: Math.max(1, own.cb_failure_threshold ?? shared.cbFailureThreshold),
    successThreshold: Math.max(1, own.cb_success_threshold ?? shared.cbSuccessThreshold),
    timeoutMs: (own.cb_timeout_secs ?? shared.cbTimeoutSecs) * SECOND,
  };
}

function effectiveHealth(spec: WorkerSpecWire, options: RegistryOptions): EffectiveHealth {
  const own = spec.health ?? {};
  const shared = options.health;
  return {
    isDisabled: own.disable_health_check ?? shared.isDisabled,
    timeoutMs: (own.timeout_secs ?? shared.timeoutSecs) * SECOND,
    // 0 would probe without a pause.
    intervalMs: Math.max(1, own.check_interval_secs ?? shared.intervalSecs) * SECOND,
    thresholds: {
      success: own.success_threshold ?? shared.successThreshold,
      failure: own.failure_threshold ?? shared.failureThreshold,
    },
    drainSettleMs: (own.drain_settle_secs ?? options.drainSettleSecs) * SECOND,
  };
}
