import { type AuditClock } from './audit-clock';
import { type AuditFile } from './audit-file';
import { type QueueBounds, RecordQueue } from './record-queue';
import { TailWriter } from './tail-writer';

/** Milliseconds anybody waits for a record to be durable, for a reopening, and for the end. */
export const DURABILITY_BOUND_MS = 2000;
/** What may wait while the disk is slow. */
const BOUNDS: QueueBounds = { records: 4096, bytes: 8 * 1024 * 1024 };
/** Milliseconds between attempts while writing fails; doubles from the first to the last. */
const RETRY_MS = { first: 100, last: 1000 };

/** Hears what becomes of the records. Must not throw. */
export interface DurableLogEvents {
  /** A record that will not be in the file. */
  lost(line: string): void;
  /** An attempt failed and will be made again; `waiting` records are not durable. */
  failed(error: unknown, waiting: number): void;
  /** The first success after a failure. */
  recovered(): void;
}

interface Reopening {
  readonly file: AuditFile;
  /** Records that belong to the file before. */
  before: number;
  readonly done: () => void;
}

/**
 * Records to a file, each durable before its promise says so. All that gather while one write and
 * sync are under way share the next (group commit). Nothing here blocks: a disk that hangs or is full
 * fills the queue, and then costs records, each of which is reported.
 */
export class DurableLog {
  private readonly queue: RecordQueue;
  private writer: TailWriter;
  private isRunning = false;
  private isClosing = false;
  private isFailing = false;
  /** Somebody waited in vain since the last success: nobody waits again before the next. */
  private isStuck = false;
  private reopening: Reopening | undefined;
  private stopWatch: (() => void) | undefined;
  private wake: (() => void) | undefined;
  private onIdle: (() => void) | undefined;

  constructor(
    file: AuditFile,
    private readonly events: DurableLogEvents,
    private readonly clock: AuditClock,
    bounds: QueueBounds = BOUNDS,
  ) {
    this.queue = new RecordQueue(bounds);
    this.writer = new TailWriter(file, this.queue);
  }

  /** Records not yet durable. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * @param line ends with a newline and has no other.
   * @returns whether it became durable in time; one that did not may be kept later.
   */
  append(line: string): Promise<boolean> {
    return new Promise((resolve) => {
      const waits = !this.isStuck;
      const isTaken =
        !this.isClosing &&
        this.queue.add(line, this.clock.monotonicMs(), waits ? resolve : undefined);
      if (!isTaken) this.events.lost(line);
      if (!isTaken || !waits) resolve(false);
      if (!isTaken) return;
      if (waits) this.watch();
      this.run();
    });
  }

  /**
   * Goes on in another file; what was appended before goes to the present one, unless that fails.
   * @throws Error when the present file does not come to an end in time; it then stays in use.
   */
  reopen(file: AuditFile): Promise<void> {
    if (this.isClosing || this.reopening !== undefined) {
      closeQuietly(file);
      return Promise.reject(new Error('the audit log is ending, or is being reopened already'));
    }
    return new Promise((resolve, reject) => {
      const cancel = this.clock.schedule(() => {
        this.reopening = undefined;
        closeQuietly(file);
        reject(new Error('the file in use does not answer'));
      }, DURABILITY_BOUND_MS);
      const done = (): void => {
        cancel();
        resolve();
      };
      this.reopening = { file, before: this.queue.length, done };
      this.wake?.();
      this.run();
    });
  }

  /** Writes the rest, within bounds; what cannot be written then is lost. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.wake?.();
    let cancel: (() => void) | undefined;
    const tooLong = new Promise<void>((resolve) => {
      cancel = this.clock.schedule(resolve, DURABILITY_BOUND_MS);
    });
    await Promise.race([this.end(), tooLong]);
    cancel?.();
    this.stopWatch?.();
    for (const line of this.queue.abandon()) this.events.lost(line);
  }

  private async end(): Promise<void> {
    if (this.isRunning) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
      });
    }
    await this.writer.close().catch(() => undefined);
  }

  private run(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    void this.writeAll();
  }

  /** Never rejects. */
  private async writeAll(): Promise<void> {
    let retryMs = RETRY_MS.first;
    for (;;) {
      if (this.reopening?.before === 0) this.change(this.reopening);
      const count = this.reopening?.before ?? this.queue.length;
      if (count === 0) break;
      // After a failure one record tries how it goes.
      const { durable, error } = await this.writer.write(this.isFailing ? 1 : count);
      if (this.reopening !== undefined) {
        this.reopening.before = Math.max(0, this.reopening.before - durable);
      }
      if (error === undefined) {
        retryMs = RETRY_MS.first;
        this.succeeded();
        continue;
      }
      this.isFailing = true;
      this.events.failed(error, this.queue.length);
      if (this.isClosing) break;
      // The rest goes to the next file rather than nowhere.
      if (this.reopening !== undefined) this.reopening.before = 0;
      else await this.pause(retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_MS.last);
    }
    // In the same turn as the look at the queue: a record that comes later starts anew.
    this.isRunning = false;
    this.onIdle?.();
  }

  private succeeded(): void {
    this.isStuck = false;
    if (!this.isFailing) return;
    this.isFailing = false;
    this.events.recovered();
  }

  private change({ file, done }: Reopening): void {
    const previous = this.writer;
    this.reopening = undefined;
    this.writer = new TailWriter(file, this.queue);
    void previous.close().catch(() => undefined);
    done();
  }

  /** Ends early when there is news. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.clock.schedule(() => this.wake?.(), ms);
      this.wake = () => {
        this.wake = undefined;
        cancel();
        resolve();
      };
    });
  }

  /** One timer for whoever waits longest. */
  private watch(): void {
    if (this.stopWatch !== undefined) return;
    const since = this.queue.awaitedSince;
    if (since === undefined) return;
    const ms = Math.max(0, since + DURABILITY_BOUND_MS - this.clock.monotonicMs());
    this.stopWatch = this.clock.schedule(() => {
      this.stopWatch = undefined;
      const now = this.clock.monotonicMs();
      if (this.queue.giveUpWaiting(now - DURABILITY_BOUND_MS) > 0) this.isStuck = true;
      this.watch();
    }, ms);
  }
}

function closeQuietly(file: AuditFile): void {
  void file.close().catch(() => undefined);
}
