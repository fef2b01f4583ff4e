import { IsBoolean, IsOptional } from 'class-validator';
import { OptionalInt, OptionalNumber, OptionalStatusCodes } from './numbers';

/** `health` of a worker. */
export class HealthDto {
  @OptionalInt() timeout_secs?: number;
  @OptionalInt() check_interval_secs?: number;
  @OptionalInt() success_threshold?: number;
  @OptionalInt() failure_threshold?: number;
  @IsOptional() @IsBoolean() disable_health_check?: boolean;
  @OptionalInt() drain_settle_secs?: number;
}

/** `http_pool` of a worker. */
export class HttpPoolDto {
  @OptionalInt() pool_max_idle_per_host?: number;
  @OptionalInt() pool_idle_timeout_secs?: number;
  @OptionalInt(1) timeout_secs?: number;
  @OptionalInt(1) connect_timeout_secs?: number;
}

/** `resilience` of a worker. */
export class ResilienceDto {
  @OptionalInt() max_retries?: number;
  @OptionalInt() initial_backoff_ms?: number;
  @OptionalInt() max_backoff_ms?: number;
  @OptionalNumber(1) backoff_multiplier?: number;
  @OptionalNumber(0, 1) jitter_factor?: number;
  @IsOptional() @IsBoolean() disable_retry?: boolean;
  @OptionalInt() cb_failure_threshold?: number;
  @OptionalInt() cb_success_threshold?: number;
  @OptionalInt() cb_timeout_secs?: number;
  @OptionalInt() cb_window_secs?: number;
  @IsOptional() @IsBoolean() disable_circuit_breaker?: boolean;
  @OptionalStatusCodes() retryable_status_codes?: number[];
  @OptionalStatusCodes() capacity_status_codes?: number[];
}

/** `overload` of a worker. */
export class OverloadDto {
  @OptionalInt(1) waiting_requests?: number;
  @OptionalNumber(Number.MIN_VALUE, 1) token_usage?: number;
}
