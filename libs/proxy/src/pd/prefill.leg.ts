import { GatewayError, type ErrorCode } from '@smg/protocol';
import {
  readResponseHeaders,
  type RelayHeaders,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
} from '@smg/upstream';
import { mayResend } from '../chosen-earlier';
import { upstreamError } from '../gateway-reply';
import { type InferenceExchange } from '../inference.exchange';
import { type RoutableWorker, type RunServices } from '../run.services';

/** Bytes kept of an answer that is no success: enough for its message. */
const ERROR_BYTES = 64 * 1024;
/** Milliseconds for which the rest of an answer is read once nobody waits for it. */
const DRAIN_MS = 5000;

/** What became of a prefill request. */
export interface PrefillListener {
  /** The head of a success. */
  onPrefillHead(): void;
  /** The whole answer, any status; its body is empty where nobody keeps it. */
  onPrefillAnswer(answer: PrefillAnswer): void;
  /** @param isRepeatable not a byte of an answer came. */
  onPrefillFailure(error: GatewayError, isRepeatable: boolean): void;
}

export interface PrefillAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly isEvents: boolean;
}

/**
 * The prefill half of a pair's request: its place in the worker's load, its deadline, its answer. When
 * the client has what it wants, the rest is read in the background, for a while.
 */
export class PrefillLeg implements UpstreamHandler {
  private call: UpstreamCall | undefined;
  private timer: NodeJS.Timeout | undefined;
  private relay: RelayHeaders | undefined;
  private status = 0;
  private kept: Buffer[] = [];
  private bytes = 0;
  private isSettled = false;
  private isDrained = false;
  /** What the request counts under at its worker, beside the load. */
  private key: string | undefined;

  /** @param keepsBody the body of a success is wanted. */
  constructor(
    private readonly services: RunServices,
    private readonly exchange: InferenceExchange,
    readonly worker: RoutableWorker,
    private readonly keepsBody: boolean,
    private readonly listener: PrefillListener,
  ) {}

  start(request: UpstreamRequest): void {
    this.key = this.exchange.keyInFlight;
    this.worker.beginRequest(this.key);
    this.timer = setTimeout(onDeadline, this.worker.requestTimeoutMs, this);
    this.call = this.services.transport.dispatch(request, this);
  }

  /** Closes the connection to the engine now; nothing more is heard, and nobody is blamed. */
  abort(): void {
    if (!this.settle()) return;
    this.call?.abort();
  }

  /** Nobody waits for the rest: nothing more is heard. */
  drain(): void {
    if (this.isSettled || this.isDrained) return;
    this.isDrained = true;
    this.kept = [];
    clearTimeout(this.timer);
    this.timer = setTimeout(onDeadline, DRAIN_MS, this);
    this.timer.unref();
  }

  onResend(): boolean {
    const { services, exchange } = this;
    if (this.isDrained || !mayResend(services, exchange, this.worker)) return false;
    services.metrics.resent();
    return true;
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    const relay = readResponseHeaders(rawHeaders);
    if (relay.foreignCoding) {
      this.call?.abort();
      const message = 'the answer has a transfer coding other than chunked';
      this.onError({ kind: 'invalid', message });
      return;
    }
    this.status = status;
    this.relay = relay;
    if (this.isSuccess && !this.isDrained) this.listener.onPrefillHead();
  }

  onData(chunk: Buffer): boolean {
    if (this.isSettled) return true;
    const before = this.bytes;
    this.bytes += chunk.length;
    const { maxPayloadSize } = this.services.options;
    if (this.bytes > maxPayloadSize) {
      this.call?.abort();
      this.tooLarge(maxPayloadSize);
    } else if (!this.isDrained && (this.isSuccess ? this.keepsBody : before < ERROR_BYTES)) {
      this.kept.push(chunk);
    }
    return true;
  }

  onEnd(): void {
    if (!this.settle()) return;
    this.worker.recordOutcome(this.status);
    if (this.isDrained) return;
    const body = Buffer.concat(this.kept);
    this.kept = [];
    const isEvents = this.relay?.eventStream === true;
    this.listener.onPrefillAnswer({ status: this.status, body, isEvents });
  }

  onError(failure: UpstreamFailure): void {
    if (!this.settle()) return;
    this.services.metrics.workerFailed(this.worker, 'backend_error');
    this.worker.recordTransportFailure(502);
    if (this.isDrained) return;
    const isRepeatable = failure.kind !== 'invalid' && this.call?.hasAnswered !== true;
    this.listener.onPrefillFailure(upstreamError(failure, this.worker.baseUrl), isRepeatable);
  }

  /** @internal */
  deadlinePassed(): void {
    if (!this.settle()) return;
    this.call?.abort();
    if (this.isDrained) {
      if (this.status !== 0) this.worker.recordOutcome(this.status);
      return;
    }
    this.services.metrics.workerFailed(this.worker, 'timeout');
    this.worker.recordTransportFailure(504);
    const seconds = this.worker.requestTimeoutMs / 1000;
    const message = `${this.worker.baseUrl}: no complete prefill answer within ${seconds} s`;
    const isRepeatable = this.call?.hasAnswered !== true;
    this.listener.onPrefillFailure(
      new GatewayError('call_upstream_timeout', message),
      isRepeatable,
    );
  }

  private get isSuccess(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Of an answer nobody keeps the rest may go; a kept one is no use in part. */
  private tooLarge(limit: number): void {
    if (!this.settle()) return;
    this.worker.recordOutcome(this.status);
    if (this.isDrained || (this.isSuccess && !this.keepsBody)) return;
    const code: ErrorCode = 'upstream_response_too_large';
    const message = `the prefill answer exceeds ${limit} bytes`;
    this.listener.onPrefillFailure(new GatewayError(code, message), false);
  }

  /** Ends what the leg holds, once. @returns false when it had ended already. */
  private settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    clearTimeout(this.timer);
    this.worker.endRequest(this.key);
    return true;
  }
}

function onDeadline(leg: PrefillLeg): void {
  leg.deadlinePassed();
}
