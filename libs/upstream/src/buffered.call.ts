import {
  WorkerCallError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCallFailure,
} from '@smg/plugin-api';
import { callName } from './core/call-name';
import { type UpstreamFailure } from './core/upstream-failure';
import {
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
} from './upstream.transport';

/** Collects one answer up to a cap, under one deadline for head and body together. */
export class BufferedCall implements UpstreamHandler {
  private readonly chunks: Buffer[] = [];
  private kept = 0;
  private truncated = false;
  private status = 0;
  private headers: readonly string[] = [];
  private call: UpstreamCall | undefined;
  private timer: NodeJS.Timeout | undefined;
  private done = false;

  constructor(
    private readonly order: WorkerCall,
    private readonly resolve: (answer: WorkerAnswer) => void,
    private readonly reject: (error: WorkerCallError) => void,
  ) {}

  start(transport: UpstreamTransport, request: UpstreamRequest): void {
    const { signal, timeoutMs } = this.order;
    if (signal?.aborted === true) {
      this.onAbort();
      return;
    }
    signal?.addEventListener('abort', this.onAbort, { once: true });
    this.timer = setTimeout(this.onDeadline, timeoutMs);
    this.call = transport.dispatch(request, this);
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    this.status = status;
    this.headers = rawHeaders;
  }

  onData(chunk: Buffer): boolean {
    const room = (this.order.maxBodyBytes ?? Infinity) - this.kept;
    if (chunk.length > room) this.truncated = true;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (part.length > 0) {
      this.chunks.push(part);
      this.kept += part.length;
    }
    if (this.truncated && this.order.stopsAtLimit === true) {
      this.onEnd();
      this.call?.abort();
    }
    return true;
  }

  onEnd(): void {
    if (!this.finish()) return;
    const { status, headers, truncated } = this;
    this.resolve({ status, headers, body: Buffer.concat(this.chunks), truncated });
  }

  onError(failure: UpstreamFailure): void {
    if (!this.finish()) return;
    this.reject(
      new WorkerCallError(failureOf(failure), `${callName(this.order)}: ${failure.message}`, {
        cause: failure.cause,
      }),
    );
  }

  private readonly onDeadline = (): void => {
    if (!this.finish()) return;
    this.call?.abort();
    const why = `${callName(this.order)}: no answer in ${this.order.timeoutMs} ms`;
    this.reject(new WorkerCallError('timeout', why));
  };

  private readonly onAbort = (): void => {
    if (!this.finish()) return;
    this.call?.abort();
    this.reject(new WorkerCallError('aborted', `${callName(this.order)}: call aborted`));
  };

  private finish(): boolean {
    if (this.done) return false;
    this.done = true;
    clearTimeout(this.timer);
    this.order.signal?.removeEventListener('abort', this.onAbort);
    return true;
  }
}

/** A connection that could not be made in time is a timeout like any other. */
function failureOf({ kind, cause }: UpstreamFailure): WorkerCallFailure {
  const isConnectTimeout =
    kind === 'connect' &&
    cause instanceof Error &&
    'code' in cause &&
    cause.code === 'UND_ERR_CONNECT_TIMEOUT';
  return isConnectTimeout ? 'timeout' : 'unreachable';
}
