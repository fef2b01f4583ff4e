/** The process log, as far as the audit needs it. */
export interface AuditLogSink {
  /** Whether lines of this level are wanted. */
  accepts(level: 'info'): boolean;
  /** Writes whatever the level is. @param line ends with a newline. */
  write(line: string): void;
}
