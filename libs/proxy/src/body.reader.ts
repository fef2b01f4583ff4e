import { type IncomingMessage } from 'node:http';

/** How an upload ended without a body. */
export type BodyFailure = 'too_large' | 'stalled' | 'aborted';

/** Hears how an upload ended; exactly once. */
export interface BodyListener {
  onBody(body: Buffer): void;
  onBodyFailure(failure: BodyFailure): void;
}

const EMPTY = Buffer.alloc(0);

/**
 * Collects a request body into one Buffer. The idle clock runs only while the gateway waits for the
 * client: bytes restart it, and nothing else happens in between.
 */
export class BodyReader {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private timer: NodeJS.Timeout | undefined;
  private done = false;

  constructor(
    private readonly request: IncomingMessage,
    private readonly limit: number,
    private readonly idleMs: number,
    private readonly listener: BodyListener,
  ) {}

  start(): void {
    const { request } = this;
    request.on('data', this.onData);
    request.on('end', this.onEnd);
    request.on('error', this.onAborted);
    request.on('close', this.onAborted);
    if (this.idleMs > 0) this.timer = setTimeout(this.onIdle, this.idleMs);
  }

  /** Stops listening; nothing is reported any more. */
  cancel(): void {
    this.finish();
  }

  private readonly onData = (chunk: Buffer): void => {
    this.size += chunk.length;
    if (this.size > this.limit) this.fail('too_large');
    else {
      this.chunks.push(chunk);
      this.timer?.refresh();
    }
  };

  private readonly onEnd = (): void => {
    if (!this.finish()) return;
    const { chunks } = this;
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, this.size);
    this.chunks.length = 0;
    this.listener.onBody(body ?? EMPTY);
  };

  private readonly onAborted = (): void => {
    this.fail('aborted');
  };

  private readonly onIdle = (): void => {
    this.fail('stalled');
  };

  private fail(failure: BodyFailure): void {
    if (this.finish()) this.listener.onBodyFailure(failure);
  }

  private finish(): boolean {
    if (this.done) return false;
    this.done = true;
    clearTimeout(this.timer);
    const { request } = this;
    request.off('data', this.onData);
    request.off('end', this.onEnd);
    request.off('close', this.onAborted);
    return true;
  }
}
