/**
 * Circuit breaker of one worker. Law: SMG contract 3.8. Consecutive counters only; it opens at the
 * failure threshold, becomes half-open on the first look after the timeout, and does not limit
 * concurrency while half-open.
 */
export type BreakerState = 'closed' | 'open' | 'half_open';

export interface BreakerConfig {
  readonly isEnabled: boolean;
  /** Consecutive failures that open it; >= 1. */
  readonly failureThreshold: number;
  /** Consecutive successes that close a half-open one; >= 1. */
  readonly successThreshold: number;
  /** Milliseconds from opening to half-open. */
  readonly timeoutMs: number;
}

export class CircuitBreaker {
  state: BreakerState = 'closed';
  consecutiveFailures = 0;
  consecutiveSuccesses = 0;
  /** When an open breaker becomes half-open, ms since the epoch; Infinity while not open. */
  halfOpenAt = Number.POSITIVE_INFINITY;

  constructor(
    readonly config: BreakerConfig,
    private readonly onTransition: (from: BreakerState, to: BreakerState) => void,
  ) {}

  recordSuccess(): void {
    this.consecutiveFailures = 0;
    this.consecutiveSuccesses++;
    if (this.state === 'half_open' && this.consecutiveSuccesses >= this.config.successThreshold) {
      this.#become('closed');
    }
  }

  recordFailure(now: number): void {
    this.consecutiveSuccesses = 0;
    this.consecutiveFailures++;
    if (!this.config.isEnabled || this.state === 'open') return;
    if (this.state === 'half_open' || this.consecutiveFailures >= this.config.failureThreshold) {
      this.halfOpenAt = now + this.config.timeoutMs;
      this.#become('open');
    }
  }

  /** Whether requests may pass, seen at `now`. */
  look(now: number): boolean {
    if (this.state !== 'open') return true;
    if (now < this.halfOpenAt) return false;
    this.#halfOpen();
    return true;
  }

  /** The engine is known to be back: an open breaker lets requests try it without waiting. */
  engineRecovered(): void {
    if (this.state === 'open') this.#halfOpen();
  }

  #halfOpen(): void {
    this.halfOpenAt = Number.POSITIVE_INFINITY;
    this.consecutiveSuccesses = 0;
    this.#become('half_open');
  }

  #become(to: BreakerState): void {
    const from = this.state;
    this.state = to;
    this.onTransition(from, to);
  }
}

/** Whether two configurations would judge alike; a breaker survives a replacement only then. */
export function sameBreakerConfig(a: BreakerConfig, b: BreakerConfig): boolean {
  return (
    a.isEnabled === b.isEnabled &&
    a.failureThreshold === b.failureThreshold &&
    a.successThreshold === b.successThreshold &&
    a.timeoutMs === b.timeoutMs
  );
}
