import { Logger } from '@nestjs/common';
import { types } from 'node:util';
import { type AuditClock } from './core/audit-clock';
import { type OpenAuditFile } from './core/audit-file';
import { DurableLog } from './core/durable-log';
import { NoticeLimit } from './core/notice-limit';

/** The audit file: opened, reopened and ended; its troubles are told in the log, now and then. */
export class FileSink {
  private readonly logger = new Logger('smg::audit::file');
  private readonly failures = new NoticeLimit();
  private readonly losses = new NoticeLimit();
  private log: DurableLog | undefined;

  constructor(
    private readonly path: string,
    private readonly openFile: OpenAuditFile,
    private readonly clock: AuditClock,
    private readonly onLost: (line: string) => void,
  ) {}

  get waiting(): number {
    return this.log?.waiting ?? 0;
  }

  /** @throws Error naming the path. */
  async open(): Promise<void> {
    const file = await this.openFile(this.path);
    this.log = new DurableLog(
      file,
      {
        lost: (line) => {
          this.tellLost(line);
        },
        failed: (error, waiting) => {
          this.tellFailed(error, waiting);
        },
        recovered: () => {
          this.logger.log(`${this.path}: records are durable again`);
        },
      },
      this.clock,
    );
  }

  /** @returns whether it became durable in time. */
  append(line: string): Promise<boolean> {
    if (this.log !== undefined) return this.log.append(line);
    this.tellLost(line);
    return Promise.resolve(false);
  }

  /** @throws Error when the file cannot be opened again; the present one stays in use. */
  async reopen(): Promise<void> {
    await this.log?.reopen(await this.openFile(this.path));
  }

  async close(): Promise<void> {
    await this.log?.close();
  }

  private tellLost(line: string): void {
    this.onLost(line);
    const count = this.losses.take(this.clock.monotonicMs());
    if (count === undefined) return;
    this.logger.warn(`${this.path}: audit records not kept: ${count}; each is in this log instead`);
  }

  private tellFailed(error: unknown, waiting: number): void {
    if (this.failures.take(this.clock.monotonicMs()) === undefined) return;
    const why = types.isNativeError(error) ? error.message : String(error);
    this.logger.error(`${this.path}: ${why}; audit records that wait: ${waiting}`);
  }
}
