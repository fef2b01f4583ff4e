import { classifyUpstreamError, isRelayableStatus } from './core/upstream-failure';
import { type PooledClient } from './engine.pool';
import { OneShotBody } from './one-shot-body';
import { type UpstreamPool } from './upstream.pool';
import {
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
} from './upstream.transport';

/** Bytes from which a body is worth the slower way that lets it go early. */
const LARGE_BODY_BYTES = 64 * 1024;
/** Interim answers of one exchange: one a second for hours is patience, more is a storm. */
const MAX_INTERIM = 10_000;

/**
 * One exchange on one pooled connection: undici's handler on one side, {@link UpstreamHandler} on the
 * other. A single object per exchange and no closure per chunk; the older handler form is used because
 * it hands over raw header lists, which keep repeats and spelling.
 *
 * The single resend: a pooled connection may have been closed by the engine a moment before the
 * request was written. Such a request is written once more on a new connection, and only if the socket
 * had served before and not one byte of an answer was seen; otherwise the engine may have begun.
 */
export class UndiciCall implements UpstreamCall {
  private entry: PooledClient | undefined;
  private resumeReading: (() => void) | undefined;
  private started = false;
  hasAnswered = false;
  private settled = false;
  private resent = false;
  private starting = false;
  private interim = 0;

  private readonly request: UpstreamRequest;
  /** Kept for the one resend; gone once the engine answers. */
  private body: Buffer | null;

  constructor(
    private readonly pool: UpstreamPool,
    request: UpstreamRequest,
    private readonly handler: UpstreamHandler,
    private readonly via: string,
  ) {
    this.body = request.body;
    this.request = this.isLarge ? { ...request, body: null } : request;
  }

  start(fresh: boolean): void {
    const { request } = this;
    this.started = false;
    this.hasAnswered = false;
    this.starting = true;
    try {
      const pool = this.pool.of(request.baseUrl);
      const entry = pool.acquire(fresh);
      this.entry = entry;
      entry.client.dispatch(
        {
          path: pool.prefix + request.path,
          method: request.method,
          headers: this.headersToSend(),
          body: this.bodyToSend(),
        },
        this,
      );
    } catch (error) {
      this.onError(error as Error);
    }
    this.starting = false;
  }

  abort(): void {
    if (this.settled) return;
    this.settled = true;
    this.discard();
  }

  resume(): void {
    if (!this.settled) this.resumeReading?.();
  }

  onConnect(): void {
    this.started = true;
  }

  onResponseStarted(): void {
    this.hasAnswered = true;
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (this.settled) return true;
    if (!isRelayableStatus(status)) {
      // 102 and 103 are interim; 101 was not asked for, and below 100 or above 599 means nothing.
      const isInterim = status !== 101 && status >= 100 && status < 200;
      if (isInterim) this.interim += 1;
      if (!isInterim) this.fail('invalid', `the engine answered with status ${status}`);
      else if (this.interim > MAX_INTERIM) this.fail('invalid', 'too many interim answers');
      return true;
    }
    this.resumeReading = resume;
    this.body = null;
    const headers = new Array<string>(rawHeaders.length);
    for (let i = 0; i < rawHeaders.length; i += 1)
      headers[i] = rawHeaders[i]?.toString('latin1') ?? '';
    this.handler.onHead(status, headers);
    return true;
  }

  onData(chunk: Buffer): boolean {
    return this.settled || this.handler.onData(chunk);
  }

  onComplete(): void {
    if (this.settled) return;
    this.settled = true;
    const entry = this.entry;
    this.entry = undefined;
    if (entry !== undefined) entry.pool.release(entry);
    this.handler.onEnd();
  }

  onError(error: Error): void {
    if (this.settled) return;
    if (this.starting) {
      // Refused before anything was sent; the caller does not hold this call yet.
      process.nextTick(() => {
        this.onError(error);
      });
      return;
    }
    const stale = this.started && !this.hasAnswered && (this.entry?.served ?? 0) > 0;
    this.discard();
    const failure = classifyUpstreamError(error, this.started, this.resumeReading !== undefined);
    if (
      stale &&
      failure.kind === 'reset' &&
      !this.resent &&
      this.request.freshConnection !== true
    ) {
      this.resent = true;
      this.handler.onResend?.();
      this.start(true);
      return;
    }
    this.settled = true;
    this.handler.onError(failure);
  }

  private get isLarge(): boolean {
    return this.body !== null && this.body.length >= LARGE_BODY_BYTES;
  }

  private headersToSend(): string[] {
    const headers = [...this.request.headers, 'via', this.via];
    if (this.body === null || !this.isLarge) return headers;
    // Without it the client library would send an iterable chunked.
    return [...headers, 'content-length', String(this.body.length)];
  }

  private bodyToSend(): Buffer | null {
    if (this.body === null || !this.isLarge) return this.body;
    return new OneShotBody(this.body) as unknown as Buffer;
  }

  private fail(kind: 'invalid', message: string): void {
    this.settled = true;
    this.discard();
    this.handler.onError({ kind, message });
  }

  private discard(): void {
    const entry = this.entry;
    this.entry = undefined;
    if (entry !== undefined) entry.pool.discard(entry);
  }
}
