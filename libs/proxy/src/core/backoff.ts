/** How requests to one worker are retried. */
export interface BackoffSettings {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  /** 0..1 */
  readonly jitterFactor: number;
}

/**
 * Milliseconds to wait before an attempt.
 * @param attempt the attempt that follows, >= 2.
 * @param random uniform in [0, 1).
 */
export function backoffMs(settings: BackoffSettings, attempt: number, random: number): number {
  const { initialBackoffMs, maxBackoffMs, backoffMultiplier, jitterFactor } = settings;
  const grown = Math.trunc(initialBackoffMs * backoffMultiplier ** (attempt - 2));
  const delay = Math.min(grown, maxBackoffMs);
  const jitter = Math.trunc((2 * random - 1) * jitterFactor * delay);
  return Math.max(0, delay + jitter);
}
