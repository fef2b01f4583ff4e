import { type DynamicModule, type InjectionToken, Module } from '@nestjs/common';
import { AUDIT_LOG, RELOADABLE } from '@smg/plugin-api';
import { AuditMetrics } from './audit.metrics';
import { AuditRecorder } from './audit.recorder';
import { AUDIT_LOG_SINK, AUDIT_OPTIONS } from './audit.tokens';
import { type AuditOptions } from './core/audit-options';
import { type AuditLogSink } from './core/log-sink';

/** Provides AUDIT_LOG. Global. */
@Module({})
export class AuditModule {
  /** @param log token of the process log; METRICS and this must be provided globally. */
  static forRoot(options: AuditOptions, log: InjectionToken<AuditLogSink>): DynamicModule {
    return {
      module: AuditModule,
      global: true,
      providers: [
        { provide: AUDIT_OPTIONS, useValue: options },
        { provide: AUDIT_LOG_SINK, useExisting: log },
        AuditMetrics,
        ...RELOADABLE.provide(AuditRecorder),
        { provide: AUDIT_LOG, useExisting: AuditRecorder },
      ],
      exports: [AUDIT_LOG],
    };
  }
}
