import { classifyUpstreamError, isRelayableStatus } from './core/upstream-failure';
import { type PooledClient } from './engine.pool';
import { type Duplex } from 'node:stream';
import { OneShotBody } from './one-shot-body';
import { type UpstreamPool } from './upstream.pool';
import {
  type UpgradeHandler,
  type UpstreamBodySource,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
} from './upstream.transport';

/** Bytes from which a body is worth the slower way that lets it go early. */
const LARGE_BODY_BYTES = 64 * 1024;
/** Interim answers of one exchange: one a second for hours is patience, more is a storm. */
const MAX_INTERIM = 10_000;

/** Another protocol that is asked for. */
interface WantedProtocol {
  readonly protocol: string;
  readonly handler: UpgradeHandler;
}

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
  /** Gone once it is handed over. */
  private source: UpstreamBodySource | undefined;
  private readonly isSentOnce: boolean;

  constructor(
    private readonly pool: UpstreamPool,
    request: UpstreamRequest,
    private readonly handler: UpstreamHandler,
    private readonly via: string,
    private readonly wanted?: WantedProtocol,
  ) {
    this.body = request.body;
    this.source = request.source;
    this.isSentOnce = request.freshConnection === true || request.source !== undefined;
    const isKept = !this.isLarge && request.source === undefined;
    this.request = isKept ? request : { ...request, body: null, source: undefined };
  }

  start(fresh: boolean): void {
    const { request } = this;
    this.started = false;
    this.hasAnswered = false;
    this.starting = true;
    try {
      const pool = this.pool.of(request.baseUrl);
      const entry = pool.acquire(fresh || this.isSentOnce);
      this.entry = entry;
      entry.client.dispatch(
        {
          path: pool.prefix + request.path,
          method: request.method,
          headers: this.headersToSend(),
          body: this.bodyToSend(),
          ...(this.wanted === undefined ? {} : { upgrade: this.wanted.protocol }),
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

  onUpgrade(_status: number, rawHeaders: Buffer[], socket: Duplex): void {
    const { entry, wanted } = this;
    this.entry = undefined;
    if (entry !== undefined) {
      if (socket.destroyed) entry.pool.discard(entry);
      else {
        socket.once('close', () => {
          entry.pool.discard(entry);
        });
      }
    }
    if (this.settled || wanted === undefined) {
      socket.on('error', ignore);
      socket.destroy();
      return;
    }
    this.settled = true;
    wanted.handler.onTunnel({ socket, rawHeaders: rawHeaders.map((it) => it.toString('latin1')) });
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
    const isLost = stale && failure.kind === 'reset' && !this.resent && !this.isSentOnce;
    if (isLost && this.handler.onResend?.() !== false) {
      this.resent = true;
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
    const length = this.source?.length;
    if (length !== undefined) headers.push('content-length', String(length));
    if (this.body === null || !this.isLarge) return headers;
    // Without it the client library would send an iterable chunked.
    return [...headers, 'content-length', String(this.body.length)];
  }

  private bodyToSend(): Buffer | null {
    const { source } = this;
    this.source = undefined;
    if (source !== undefined) return source.content as unknown as Buffer;
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

function ignore(): void {
  // It is being closed.
}
