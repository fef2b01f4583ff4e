import { type ResilienceWire, type WorkerSpecWire } from '@smg/protocol';
import { type BreakerConfig } from './circuit-breaker';
import { effectiveOverload, type OverloadLimits } from './overload';
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
  readonly health: EffectiveHealth;
  /** Between two load reports. */
  readonly loadIntervalMs: number;
  /** Undefined: never counts as overloaded. */
  readonly overload: OverloadLimits | undefined;
}

/** Longest delay a Node timer takes without firing at once; a longer wait is cut to it. */
const MAX_TIMER_MS = 2_147_483_647;

const milliseconds = (ms: number): number => Math.min(ms, MAX_TIMER_MS);
const seconds = (count: number): number => milliseconds(count * 1000);

export function effectiveSettings(spec: WorkerSpecWire, options: RegistryOptions): WorkerSettings {
  const own = spec.resilience ?? {};
  const shared = options.resilience;
  return {
    retry: effectiveRetry(own, shared),
    breaker: effectiveBreaker(own, shared),
    retryableStatusCodes: new Set(own.retryable_status_codes ?? shared.retryableStatusCodes),
    capacityStatusCodes: new Set(own.capacity_status_codes ?? shared.capacityStatusCodes),
    requestTimeoutMs: seconds(spec.http_pool?.timeout_secs ?? options.requestTimeoutSecs),
    health: effectiveHealth(spec, options),
    // 0 would ask without a pause.
    loadIntervalMs: seconds(
      Math.max(1, spec.load_monitor_interval_secs ?? options.loads.intervalSecs),
    ),
    overload: effectiveOverload(spec.overload, options.loads.overload),
  };
}

function effectiveRetry(own: ResilienceWire, shared: ResilienceOptions): EffectiveRetry {
  const isOff = own.disable_retry ?? shared.disableRetries;
  return {
    maxAttempts: isOff ? 1 : Math.max(1, own.max_retries ?? shared.maxRetries),
    initialBackoffMs: milliseconds(own.initial_backoff_ms ?? shared.initialBackoffMs),
    maxBackoffMs: milliseconds(own.max_backoff_ms ?? shared.maxBackoffMs),
    backoffMultiplier: own.backoff_multiplier ?? shared.backoffMultiplier,
    jitterFactor: own.jitter_factor ?? shared.jitterFactor,
  };
}

function effectiveBreaker(own: ResilienceWire, shared: ResilienceOptions): BreakerConfig {
  return {
    isEnabled: !(own.disable_circuit_breaker ?? shared.disableCircuitBreaker),
    failureThreshold: Math.max(1, own.cb_failure_threshold ?? shared.cbFailureThreshold),
    successThreshold: Math.max(1, own.cb_success_threshold ?? shared.cbSuccessThreshold),
    timeoutMs: seconds(own.cb_timeout_secs ?? shared.cbTimeoutSecs),
  };
}

function effectiveHealth(spec: WorkerSpecWire, options: RegistryOptions): EffectiveHealth {
  const own = spec.health ?? {};
  const shared = options.health;
  return {
    isDisabled: own.disable_health_check ?? shared.isDisabled,
    timeoutMs: seconds(own.timeout_secs ?? shared.timeoutSecs),
    // 0 would probe without a pause.
    intervalMs: seconds(Math.max(1, own.check_interval_secs ?? shared.intervalSecs)),
    thresholds: {
      success: own.success_threshold ?? shared.successThreshold,
      failure: own.failure_threshold ?? shared.failureThreshold,
    },
    drainSettleMs: seconds(own.drain_settle_secs ?? options.drainSettleSecs),
  };
}
