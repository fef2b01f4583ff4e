import { flag, one } from '../kinds/combine';
import { atLeast, fraction, milliseconds, seconds, u32 } from '../kinds/numbers';
import { urlPath } from '../kinds/texts';
import { inert, option } from '../option';

/** Retries, circuit breakers and health checks. */
export const RESILIENCE_OPTIONS = [
  option('retry.maxAttempts', 'retry-max-retries', one(u32(1)), {
    default: 5,
    doc: 'Attempts in total, the first one included.',
  }),
  option('retry.initialBackoffMs', 'retry-initial-backoff-ms', one(milliseconds(1)), {
    default: 50,
    doc: 'Pause before the second attempt, in milliseconds.',
  }),
  option('retry.maxBackoffMs', 'retry-max-backoff-ms', one(milliseconds(1)), {
    default: 30_000,
    doc: 'Longest pause, in milliseconds; not below --retry-initial-backoff-ms.',
  }),
  option('retry.backoffMultiplier', 'retry-backoff-multiplier', one(atLeast('f32', 1)), {
    default: 1.5,
    doc: 'Growth of the pause from attempt to attempt.',
  }),
  option('retry.jitterFactor', 'retry-jitter-factor', one(fraction('f32')), {
    default: 0.2,
    doc: 'Random share of the pause, up or down.',
  }),
  option('retry.disabled', 'disable-retries', flag, {
    default: false,
    doc: 'One attempt only.',
  }),
  option('breaker.failureThreshold', 'cb-failure-threshold', one(u32(1)), {
    default: 10,
    doc: 'Failures in a row that open the circuit breaker of a worker.',
  }),
  option('breaker.successThreshold', 'cb-success-threshold', one(u32(1)), {
    default: 3,
    doc: 'Successes in a row that close a half-open breaker.',
  }),
  option('breaker.timeoutSecs', 'cb-timeout-duration-secs', one(seconds(1)), {
    default: 60,
    doc: 'Time an open breaker waits before it lets a request try.',
  }),
  inert('cb-window-duration-secs', one(seconds(1)), {
    default: 120,
    doc: 'Window of the failure count.',
    because: 'the breaker counts failures in a row, not in a window',
  }),
  option('breaker.disabled', 'disable-circuit-breaker', flag, {
    default: false,
    doc: 'Breakers never open.',
  }),
  option('health.failureThreshold', 'health-failure-threshold', one(u32(0, { min: 1 })), {
    default: 3,
    doc: 'Failed probes in a row that take a worker out; 0 is taken as 1.',
  }),
  option('health.successThreshold', 'health-success-threshold', one(u32(0, { min: 1 })), {
    default: 2,
    doc: 'Good probes in a row that bring a worker in; 0 is taken as 1.',
  }),
  option('health.checkTimeoutSecs', 'health-check-timeout-secs', one(seconds(0, 1)), {
    default: 5,
    doc: 'Deadline of one probe; 0 is taken as 1.',
  }),
  option('health.checkIntervalSecs', 'health-check-interval-secs', one(seconds(0, 1)), {
    default: 60,
    doc: 'Time between probes of a worker; 0 is taken as 1.',
  }),
  option('health.checkEndpoint', 'health-check-endpoint', one(urlPath), {
    default: '/health',
    doc: 'Path probed on every worker.',
  }),
  option('health.checksDisabled', 'disable-health-check', flag, {
    default: false,
    doc: 'Do not probe; workers are ready once registered.',
  }),
  option('health.removeUnhealthyWorkers', 'remove-unhealthy-workers', flag, {
    default: false,
    aliases: ['worker-auto-recovery'],
    doc: 'Remove workers that fail for good.',
  }),
  option('health.drainSettleSecs', 'drain-settle-secs', one(seconds()), {
    default: 5,
    doc: 'Time a worker that leaves stays known while its requests end; 0 removes it at once.',
  }),
] as const;
