import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type AuditEntry, type AuditLog, type Reloadable } from '@smg/plugin-api';
import { AuditMetrics } from './audit.metrics';
import { AUDIT_LOG_SINK, AUDIT_OPTIONS } from './audit.tokens';
import { renderAuditLogLine } from './core/audit-log-line';
import { type AuditOptions } from './core/audit-options';
import { renderAuditRecord } from './core/audit-record';
import { type AuditLogSink } from './core/log-sink';
import { FileSink } from './file-sink';
import { openAuditFile } from './node-audit-file';
import { NODE_CLOCK } from './node-clock';

const KEPT = Promise.resolve(true);
const LOST = Promise.resolve(false);

/** The {@link AuditLog} of this process: to the log, and to a file when there is one. */
@Injectable()
export class AuditRecorder implements AuditLog, Reloadable, OnModuleInit, OnApplicationShutdown {
  readonly name = 'audit';
  readonly isOn: boolean;
  readonly isRequired: boolean;
  private readonly file: FileSink | undefined;
  private readonly clock = NODE_CLOCK;

  constructor(
    @Inject(AUDIT_OPTIONS) options: AuditOptions,
    @Inject(AUDIT_LOG_SINK) private readonly log: AuditLogSink,
    private readonly metrics: AuditMetrics,
  ) {
    this.isOn = !options.disabled;
    this.isRequired = this.isOn && options.required;
    if (!this.isOn || options.logFile === undefined) return;
    const file = new FileSink(options.logFile, openAuditFile, this.clock, (record) => {
      this.onFileLost(record);
    });
    metrics.watchQueue(() => file.waiting);
    this.file = file;
  }

  /** @throws Error when the file cannot be opened: the gateway does not start without it. */
  async onModuleInit(): Promise<void> {
    await this.file?.open();
  }

  record(entry: AuditEntry): Promise<boolean> {
    if (!this.isOn) return KEPT;
    this.metrics.recorded(entry);
    const record = renderAuditRecord(entry, this.clock.unixMs());
    if (this.file === undefined) return this.writeLog(record, 'info') ? KEPT : LOST;
    // The file is the record; the log's copy follows the level of the log.
    if (this.log.accepts('info')) this.writeLog(record, 'info');
    return this.file.append(record);
  }

  /** The file under this name may be another one now. */
  async reload(): Promise<void> {
    await this.file?.reopen();
  }

  /** After the server has ended: the last actions are recorded when their connections close. */
  async onApplicationShutdown(): Promise<void> {
    await this.file?.close();
  }

  private onFileLost(record: string): void {
    this.metrics.lost('file');
    this.writeLog(record, 'error', 'file');
  }

  private writeLog(record: string, level: 'info' | 'error', lostBy?: 'file'): boolean {
    try {
      this.log.write(renderAuditLogLine({ record, now: this.clock.unixMs(), level, lostBy }));
      return true;
    } catch {
      this.metrics.lost('log');
      return false;
    }
  }
}
