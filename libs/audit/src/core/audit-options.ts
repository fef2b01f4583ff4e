/** What AuditModule is configured with. */
export interface AuditOptions {
  /** `--disable-audit-logging`: nothing is recorded. */
  readonly disabled: boolean;
  /** `--audit-log-file`: records are appended here, each made durable. */
  readonly logFile?: string | undefined;
  /** `--audit-required`: control calls whose record is not durable are refused. Needs `logFile`. */
  readonly required: boolean;
}
