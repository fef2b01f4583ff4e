import { isatty } from 'node:tty';
import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import { type AccessLevel } from './core/access-line';
import { type AccessSink } from './core/http-request-observer';
import { GatewayLogger } from './gateway-logger';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface GatewayLogOptions {
  /** Default `info`. */
  readonly level?: LogLevel | undefined;
  /** File descriptor, or a stream that takes whole lines; default stdout. */
  readonly destination?: number | DestinationStream | undefined;
}

const STDOUT = 1;
/** Characters gathered before a write. */
const BATCH = 4096;
/** Milliseconds a line may wait in the batch. */
const FLUSH_INTERVAL_MS = 200;
/** Characters held while the reader of the log is stuck; lines beyond are dropped and counted. */
const BACKLOG_LIMIT = 8 * 1024 * 1024;
/** Milliseconds a flush waits for a reader that does not read. */
const FLUSH_TIMEOUT_MS = 2000;

/** Fields that may carry credentials when an object is logged, at the top and one level down. */
const SECRET_FIELDS = ['authorization', 'api_key', 'apiKey', 'password', 'token', 'secret'];
const REDACTED = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `headers.${field}`]);

type Sonic = ReturnType<typeof pino.destination>;

const opened = new Set<GatewayLog>();

/**
 * The gateway's log: one pino, one destination, JSON lines. A terminal is written synchronously, as
 * somebody is watching; pipes and files asynchronously in batches, so that a slow reader never holds
 * the event loop.
 */
export class GatewayLog implements AccessSink {
  readonly pino: Pino;
  /** For `NestFactory.create(..., { logger })`. */
  readonly logger: GatewayLogger;
  private readonly stream: DestinationStream;
  private readonly sonic: Sonic | undefined;
  private dropped = 0;
  private failures = 0;
  private isAbandoned = false;

  constructor(options: GatewayLogOptions = {}) {
    const destination = options.destination ?? STDOUT;
    if (typeof destination === 'number') {
      this.sonic = this.open(destination);
      this.stream = this.sonic;
    } else {
      this.sonic = undefined;
      this.stream = destination;
    }
    this.pino = pino(
      {
        level: options.level ?? 'info',
        base: null,
        formatters: { level: (label) => ({ level: label }) },
        redact: { paths: REDACTED, censor: '***' },
      },
      this.stream,
    );
    this.logger = new GatewayLogger(this.pino);
    opened.add(this);
  }

  /** Lines lost because the reader of the log was stuck. */
  get droppedLines(): number {
    return this.dropped;
  }

  /** Writes that failed, such as on a full disk. */
  get writeFailures(): number {
    return this.failures;
  }

  accepts(level: AccessLevel): boolean {
    return this.pino.isLevelEnabled(level);
  }

  write(line: string): void {
    this.stream.write(line);
  }

  /**
   * Resolves when everything written so far left the process. After two seconds it gives the log up,
   * rest and all: a reader that never reads must not keep the process from ending.
   */
  async flush(): Promise<void> {
    const sonic = this.sonic;
    if (sonic === undefined || this.isAbandoned) return;
    let timer: NodeJS.Timeout | undefined;
    const isWritten = await Promise.race([
      new Promise<boolean>((resolve) => {
        sonic.flush(() => {
          resolve(true);
        });
      }),
      new Promise<boolean>((resolve) => {
        timer = setTimeout(resolve, FLUSH_TIMEOUT_MS, false);
      }),
    ]);
    clearTimeout(timer);
    if (!isWritten) this.abandon(sonic);
  }

  /** Writes the rest and closes; stdout stays open. */
  async close(): Promise<void> {
    await this.flush();
    opened.delete(this);
  }

  /** pino's exit hook would write the rest synchronously, and wait as long as that takes. */
  private abandon(sonic: Sonic): void {
    this.isAbandoned = true;
    sonic.destroy();
    // A line after that is lost and counted; it must not throw at whoever logs it.
    sonic.write = () => {
      this.dropped++;
      return true;
    };
  }

  private open(fd: number): Sonic {
    // Node's own stream makes a pipe non-blocking as soon as it is looked at. A write that blocks a
    // pool thread, because nobody reads, would keep the process from ending.
    const sync = fd === STDOUT ? process.stdout.isTTY : isatty(fd);
    const sonic = pino.destination({
      dest: fd,
      sync,
      minLength: sync ? 0 : BATCH,
      periodicFlush: sync ? 0 : FLUSH_INTERVAL_MS,
      maxLength: BACKLOG_LIMIT,
    });
    sonic.on('drop', () => {
      this.dropped++;
    });
    // Without a listener a full disk would end the process.
    sonic.on('error', () => {
      this.failures++;
    });
    return sonic;
  }
}

/** Waits until every open log is written; the last thing to do before the process ends. */
export async function flushLogs(): Promise<void> {
  await Promise.all([...opened].map((log) => log.flush()));
}
