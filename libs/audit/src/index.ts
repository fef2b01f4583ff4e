export { AuditModule } from './audit.module';
export { type AuditOptions } from './core/audit-options';
export { renderAuditRecord } from './core/audit-record';
export { type AuditLogSink } from './core/log-sink';
