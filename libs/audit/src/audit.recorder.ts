import { Inject, Injectable } from '@nestjs/common';
import { type AuditEntry, type AuditLog } from '@smg/plugin-api';
import { AUDIT_LOG_SINK, AUDIT_OPTIONS } from './audit.tokens';
import { type AuditOptions } from './core/audit-options';
import { auditMembers, renderAuditLogLine } from './core/audit-record';
import { type AuditLogSink } from './core/log-sink';

const KEPT = Promise.resolve(true);

/** The {@link AuditLog} of this process. */
@Injectable()
export class AuditRecorder implements AuditLog {
  readonly isOn: boolean;
  readonly isRequired: boolean;

  constructor(
    @Inject(AUDIT_OPTIONS) options: AuditOptions,
    @Inject(AUDIT_LOG_SINK) private readonly log: AuditLogSink,
  ) {
    this.isOn = !options.disabled;
    this.isRequired = options.required;
  }

  record(entry: AuditEntry): Promise<boolean> {
    if (!this.isOn) return KEPT;
    const now = Date.now();
    this.log.write(renderAuditLogLine(auditMembers(entry, now), now, { level: 'info' }));
    return KEPT;
  }
}
