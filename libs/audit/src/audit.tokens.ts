/** Token of the {@link AuditOptions} given to `AuditModule.forRoot`. */
export const AUDIT_OPTIONS = 'smg:audit-options';
/** Token of the {@link AuditLogSink}. */
export const AUDIT_LOG_SINK = 'smg:audit-log-sink';
