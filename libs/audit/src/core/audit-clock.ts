/** Time, as the audit needs it. */
export interface AuditClock {
  /** Milliseconds since 1970. */
  unixMs(): number;
  /** Milliseconds; never goes back. */
  monotonicMs(): number;
  /** Runs once after `ms`. @returns a function that calls it off. */
  schedule(run: () => void, ms: number): () => void;
}
