import { type AuditFile } from './audit-file';
import { type RecordQueue } from './record-queue';

const NEWLINE = Buffer.from('\n');

/**
 * Moves the head of the queue to the end of a file, and knows how far it got: a write that stopped
 * in the middle of a line is taken up there, so a full disk tears no record.
 */
export class TailWriter {
  /** Bytes of the queue's head that are in the file and not yet known to be durable. */
  private written = 0;
  /** The file ends inside a line nobody will finish. */
  private isTorn: boolean;

  constructor(
    private readonly file: AuditFile,
    private readonly queue: RecordQueue,
  ) {
    this.isTorn = file.isTorn;
  }

  /**
   * Makes the first `count` records durable, or as many of them as the file takes.
   * @returns how many became durable, and why not all did.
   */
  async write(count: number): Promise<{ readonly durable: number; readonly error?: unknown }> {
    let trouble: { readonly error: unknown } | undefined;
    try {
      await this.append(count);
    } catch (error) {
      trouble = { error };
    }
    const whole = this.queue.wholeWithin(this.written);
    if (whole.count > 0) {
      try {
        await this.file.sync();
      } catch (error) {
        // What a failed sync leaves on the disk is unknown, and another may claim success: all is
        // written again. A record may then be there twice; none is missing.
        this.isTorn = this.written > whole.bytes;
        this.written = 0;
        return { durable: 0, error };
      }
      this.written -= whole.bytes;
      this.queue.done(whole.count);
    }
    return { durable: whole.count, ...trouble };
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async append(count: number): Promise<void> {
    if (this.isTorn) {
      await this.appendSome(NEWLINE);
      this.isTorn = false;
    }
    const bytes = this.queue.bytesOf(count);
    while (this.written < bytes.length) {
      this.written += await this.appendSome(bytes.subarray(this.written));
    }
  }

  private async appendSome(bytes: Buffer): Promise<number> {
    const count = await this.file.append(bytes);
    if (count === 0) throw new Error('the file takes no more bytes');
    return count;
  }
}
