import { type IncomingMessage } from 'node:http';

/** How an upload ended without a body. */
export type BodyFailure = 'too_large' | 'stalled' | 'aborted';

/** Hears how an upload ended; exactly once. */
export interface BodyListener {
  /** The whole body; not called when there is `onChunks`. */
  onBody?(body: Buffer): void;
  /** The whole body in the pieces it came in, which are the listener's now. */
  onChunks?(chunks: Buffer[], size: number): void;
  /** Sees each piece as it comes. @returns false to end the reading; nothing else is reported then. */
  onChunk?(chunk: Buffer): boolean;
  onBodyFailure(failure: BodyFailure): void;
}

const EMPTY = Buffer.alloc(0);

/**
 * Collects a request body into one Buffer. The idle clock runs only while the gateway waits for the
 * client: bytes restart it, and nothing else happens in between.
 */
export class BodyReader {
  private chunks: Buffer[] = [];
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
    if (this.size > this.limit) {
      this.fail('too_large');
      return;
    }
    this.chunks.push(chunk);
    this.timer?.refresh();
    if (this.listener.onChunk?.(chunk) === false) this.finish();
  };

  private readonly onEnd = (): void => {
    if (!this.finish()) return;
    const { chunks } = this;
    this.chunks = [];
    if (this.listener.onChunks !== undefined) {
      this.listener.onChunks(chunks, this.size);
      return;
    }
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, this.size);
    this.listener.onBody?.(body ?? EMPTY);
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
