import { GatewayError, REQUEST_ID } from '@smg/protocol';
import {
  type AnswerRecording,
  type ResponseInterceptor,
  type TrackedRequest,
} from '@smg/plugin-api';
import {
  readResponseHeaders,
  type RelayHeaders,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamTransport,
} from '@smg/upstream';
import { mayResend } from './chosen-earlier';
import { type ClientWriter } from './client.writer';
import { JsonWatch } from './core/json-watch';
import { FlatResponseHead } from './core/response-head';
import { StreamWatch, truncationEvent } from './core/stream-watch';
import { type UsageWatch } from './core/usage';
import { type AnswerRules, withContentTypeOnly } from './kinds/answer-rules';
import { asGatewayError, upstreamError } from './gateway-reply';
import { type InferenceExchange } from './inference.exchange';
import { type RoutableWorker, type RunServices } from './run.services';
import { type TenantShare } from './tenant.share';

/** Bytes of a buffered answer held back, so that a failure inside it is still a clean error. */
const HOLD_BYTES = 1024 * 1024;
/** Milliseconds after which the head of a silent stream is sent on without its first byte. */
const HEAD_DELAY_MS = 200;
const SENT: string[] = [];
const NOTHING = Buffer.alloc(0);

/** What a request's current attempt is told. */
export interface RunningAttempt {
  /** The one that answers. */
  readonly worker: RoutableWorker;
  /** The client left: every engine that works for it is told at once, and nobody is blamed. */
  clientGone(): void;
  /** The client reads again. */
  resume(): void;
}

/** The request an attempt belongs to. */
export interface AttemptOwner {
  readonly services: RunServices;
  readonly exchange: InferenceExchange;
  readonly writer: ClientWriter;
  readonly interceptors: readonly ResponseInterceptor[];
  /** Undefined while nothing limits requests. */
  readonly share: TenantShare | undefined;
  /** Undefined where answers are relayed as they are. */
  readonly rules: AnswerRules | undefined;
  /** Undefined when nobody keeps the answer. */
  readonly recording: AnswerRecording | undefined;
  /** A whole answer may be thrown away for another attempt. @returns true when one is scheduled. */
  retryAnswer(status: number): boolean;
  /** The worker failed before a byte of an answer; another attempt, or this error. */
  retryFailure(error: GatewayError): void;
  /** No further attempt: the client gets this error, stamped with the worker. */
  refuse(error: GatewayError): void;
  /** From here on no further attempt is possible. */
  committed(): void;
}

/**
 * One attempt at one worker, from dispatch to the last byte. Three ways of passing an answer on:
 * a stream is relayed from its first byte; a buffered answer is held until it is complete; one too
 * large to hold is relayed as it arrives.
 */
export class UpstreamAttempt implements RunningAttempt, UpstreamHandler {
  private call: UpstreamCall | undefined;
  private deadline: NodeJS.Timeout | undefined;
  private headDelay: NodeJS.Timeout | undefined;
  private settled = false;
  private status = 0;
  private relay: RelayHeaders | undefined;
  private isStream = false;
  private isSpilled = false;
  private isInspected = false;
  private held: Buffer[] = [];
  private bytes = 0;
  private watch: StreamWatch | undefined;
  private json: JsonWatch | undefined;
  private usage: UsageWatch | undefined;
  private build: AnswerRules['build'];
  private recording: AnswerRecording | undefined;
  /** What the request counts under at its worker, beside the load. */
  private key: string | undefined;
  private tracked: TrackedRequest | undefined;

  constructor(
    private readonly owner: AttemptOwner,
    readonly worker: RoutableWorker,
  ) {}

  /** @param transport another way to the engine than the usual one. */
  start(
    request: UpstreamRequest,
    transport: Pick<UpstreamTransport, 'dispatch'> = this.owner.services.transport,
  ): void {
    this.key = this.owner.exchange.keyInFlight;
    this.worker.beginRequest(this.key);
    this.tracked = this.owner.services.tracker?.begin(this.owner.exchange.rid, this.worker);
    this.deadline = setTimeout(onDeadline, this.worker.requestTimeoutMs, this);
    this.owner.share?.dispatched();
    this.call = transport.dispatch(request, this);
  }

  /** The client left: the engine is told at once, and nobody is blamed. */
  clientGone(): void {
    if (this.settled) return;
    this.settle();
    this.call?.abort();
  }

  resume(): void {
    this.call?.resume();
  }

  onResend(): boolean {
    const { services, exchange } = this.owner;
    if (!mayResend(services, exchange, this.worker)) return false;
    services.metrics.resent();
    return true;
  }

  onHead(status: number, rawHeaders: readonly string[]): void {
    const relay = readResponseHeaders(rawHeaders);
    if (relay.foreignCoding) {
      this.refuseCoding();
      return;
    }
    const isSuccess = status < 300 && status !== 204 && status !== 205;
    this.relay = this.ruled(relay, isSuccess);
    this.status = status;
    this.owner.services.metrics.answered(status);
    if (isSuccess && this.endsByClose && !relay.encoded && JsonWatch.covers(relay.contentType)) {
      this.json = new JsonWatch();
    }
    const mayStream = isSuccess && this.build === undefined;
    this.isStream = mayStream && (relay.eventStream || this.owner.exchange.wantsStream);
    this.accountFor(isSuccess, relay.encoded);
    if (this.isStream) {
      this.beginStream(relay);
    } else if (relay.contentLength > this.owner.services.options.maxPayloadSize) {
      this.tooLarge();
    }
  }

  private beginStream({ encoded, eventStream, contentType }: RelayHeaders): void {
    // A stream without a type goes out as an event stream; in an encoded one no event can be read.
    const isEvents = !encoded && (eventStream || contentType === '');
    if (isEvents) this.watch = new StreamWatch(this.endsByClose);
    this.owner.committed();
    this.headDelay = setTimeout(onHeadDelay, HEAD_DELAY_MS, this);
  }

  /** What the route makes of an answer. */
  private ruled(relay: RelayHeaders, isSuccess: boolean): RelayHeaders {
    const { rules } = this.owner;
    if (rules === undefined) return relay;
    if (isSuccess) this.build = rules.build;
    return rules.onlyContentType ? withContentTypeOnly(relay) : relay;
  }

  /** Tells the tenant's budget, and who keeps answers, that an engine answers. */
  private accountFor(isSuccess: boolean, isEncoded: boolean): void {
    const { share, recording } = this.owner;
    if (isSuccess && !isEncoded) {
      this.recording = recording;
      recording?.begin(this.isStream);
    }
    if (share === undefined) return;
    share.answered(isSuccess);
    if (this.isStream && !isEncoded) this.usage = share.watchStream();
  }

  onData(chunk: Buffer): boolean {
    if (this.settled) return true;
    this.bytes += chunk.length;
    this.json?.see(chunk);
    this.recording?.see(chunk);
    if (this.isStream) {
      this.watch?.see(chunk);
      this.usage?.see(chunk);
      if (!this.owner.writer.headSent && !this.commitHead()) return true;
      return this.owner.writer.write(chunk);
    }
    if (this.bytes > this.owner.services.options.maxPayloadSize) {
      this.tooLarge();
      return true;
    }
    if (this.isSpilled) return this.owner.writer.write(chunk);
    this.held.push(chunk);
    const isHeld = this.bytes <= HOLD_BYTES || this.isInspected || this.build !== undefined;
    return isHeld || this.spill();
  }

  onEnd(): void {
    if (this.settled) return;
    this.settle();
    if (this.isStream) this.endStream();
    else if (this.isSpilled) this.endSpilled();
    else this.endHeld();
  }

  onError(failure: UpstreamFailure): void {
    if (this.settled) return;
    this.settle();
    this.fail(upstreamError(failure, this.worker.baseUrl), failure.kind !== 'invalid');
  }

  /** @internal */
  deadlinePassed(): void {
    if (this.settled) return;
    this.settle();
    this.call?.abort();
    const seconds = this.worker.requestTimeoutMs / 1000;
    this.fail(
      new GatewayError('call_upstream_timeout', `no complete answer within ${seconds} s`),
      true,
    );
  }

  /** @internal */
  headDelayPassed(): void {
    if (this.settled || this.owner.writer.headSent) return;
    if (this.commitHead()) this.owner.writer.flushHead();
  }

  private fail(error: GatewayError, isRetryable: boolean): void {
    const { writer, services, exchange } = this.owner;
    const isTimeout = error.code === 'call_upstream_timeout';
    services.metrics.workerFailed(this.worker, isTimeout ? 'timeout' : 'backend_error');
    this.worker.recordTransportFailure(error.status);
    if (writer.headSent) {
      this.truncate();
    } else if (this.relay === undefined) {
      // An engine that began to answer, if only with half a head, has worked: no second generation.
      const isRepeatable = isRetryable && this.call?.hasAnswered !== true;
      if (isRepeatable) this.owner.retryFailure(error);
      else this.owner.refuse(error);
    } else if (isTimeout) {
      this.owner.refuse(error);
    } else {
      // Part of an answer arrived: the engine has worked, so the request is not sent again.
      const code =
        exchange.endpoint === 'info' ? 'read_response_failed' : 'read_response_body_failed';
      this.owner.refuse(new GatewayError(code, error.message, { cause: error }));
    }
  }

  private endStream(): void {
    const { writer, exchange } = this.owner;
    if (this.bytes === 0 && !writer.headSent) {
      this.owner.services.metrics.workerFailed(this.worker, 'backend_error');
      this.worker.recordTransportFailure(502);
      this.owner.refuse(
        new GatewayError(
          'upstream_empty_response',
          `the worker answered ${this.status} to a streaming request and sent nothing`,
        ),
      );
      return;
    }
    if (this.bytes === 0 || this.isCut) {
      this.endCut();
      return;
    }
    const errorStatus = this.watch?.errorStatus ?? 0;
    this.worker.recordOutcome(errorStatus === 0 ? this.status : errorStatus);
    if (errorStatus !== 0) {
      this.owner.services.metrics.failed(exchange.model, exchange.endpoint, 'backend_error');
    }
    this.recording?.complete();
    writer.end();
  }

  private endSpilled(): void {
    if (this.isCut) {
      this.endCut();
      return;
    }
    this.worker.recordOutcome(this.status);
    this.recording?.complete();
    this.owner.writer.end();
  }

  /** The answer stops before its own end, though the connection closed in good order. */
  private endCut(): void {
    this.owner.services.metrics.workerFailed(this.worker, 'backend_error');
    this.worker.recordTransportFailure(502);
    this.truncate();
  }

  private get endsByClose(): boolean {
    return this.relay?.chunked === false && this.relay.contentLength === -1;
  }

  /** Only an answer that ends where its connection does can be cut without a trace in the framing. */
  private get isCut(): boolean {
    if (!this.endsByClose) return false;
    return this.watch?.isComplete === false || this.json?.isComplete === false;
  }

  private takeHeld(): Buffer {
    const { held } = this;
    const [first] = held;
    this.held = [];
    return first !== undefined && held.length === 1 ? first : Buffer.concat(held, this.bytes);
  }

  /** @returns true when the answer turned out to be cut, and the client got an error. */
  private refuseCut(): boolean {
    if (!this.isCut) return false;
    const message = 'connection closed inside the answer';
    this.fail(upstreamError({ kind: 'reset', message }, this.worker.baseUrl), false);
    return true;
  }

  private endHeld(): void {
    const body = this.takeHeld();
    if (this.refuseCut()) return;
    this.worker.recordOutcome(this.status);
    if (this.owner.retryAnswer(this.status)) return;
    if (this.relay?.encoded === false) this.owner.share?.readUsage(body);
    const { exchange, interceptors } = this.owner;
    const head = this.makeHead(false);
    if (head === undefined) return;
    try {
      for (const interceptor of interceptors) {
        if (interceptor.inspectsBody(head, exchange)) interceptor.onBody(head, body, exchange);
      }
    } catch (error) {
      this.internalFault(error);
      return;
    }
    this.sendHeld(head, body);
  }

  private sendHeld(head: FlatResponseHead, body: Buffer): void {
    const { writer } = this.owner;
    const sent = this.build === undefined ? body : this.built(body, head);
    if (sent === undefined) return;
    const hasBody = this.status !== 204 && this.status !== 304;
    if (hasBody) head.headers.push('content-length', String(sent.length));
    this.recording?.complete();
    writer.head(this.status, head.headers);
    writer.end(sent.length === 0 ? undefined : sent);
  }

  /** The gateway's own answer out of the engine's; undefined when that cannot be, and the client knows. */
  private built(body: Buffer, head: FlatResponseHead): Buffer | undefined {
    try {
      const sent = this.build?.(this.relay?.encoded === true ? NOTHING : body);
      head.delete('content-encoding');
      head.set('content-type', 'application/json');
      return sent;
    } catch (error) {
      this.owner.refuse(asGatewayError(error));
      return undefined;
    }
  }

  /** Gives up holding: the head and what is held go out, the rest follows. */
  private spill(): boolean {
    const { exchange, interceptors, writer } = this.owner;
    const head = this.makeHead(false);
    if (head === undefined) return true;
    try {
      this.isInspected = interceptors.some((it) => it.inspectsBody(head, exchange));
    } catch (error) {
      this.internalFault(error);
      return true;
    }
    if (this.isInspected) return true;
    this.owner.committed();
    this.isSpilled = true;
    if (!this.commitHead()) return true;
    let isWritable = true;
    for (const chunk of this.held) isWritable = writer.write(chunk);
    this.held = [];
    return isWritable;
  }

  /** Writes the head of an answer that is relayed as it arrives. @returns false after a fault. */
  private commitHead(): boolean {
    clearTimeout(this.headDelay);
    const head = this.makeHead(true);
    if (head === undefined) return false;
    if (this.isStream && head.get('content-type') === undefined) {
      head.headers.push('content-type', 'text/event-stream');
    }
    const length = this.relay?.contentLength ?? -1;
    if (length >= 0) head.headers.push('content-length', String(length));
    this.owner.writer.head(this.status, head.headers);
    // A stream may last for hours: what has been sent is not kept.
    if (this.relay !== undefined) this.relay = { ...this.relay, headers: SENT };
    return true;
  }

  private makeHead(isStream: boolean): FlatResponseHead | undefined {
    const { exchange, interceptors } = this.owner;
    const headers = [...(this.relay?.headers ?? []), REQUEST_ID, exchange.requestId];
    const head = new FlatResponseHead(this.status, isStream, headers);
    try {
      for (const interceptor of interceptors) interceptor.onHead(head, exchange);
    } catch (error) {
      this.internalFault(error);
      return undefined;
    }
    return head;
  }

  private internalFault(error: unknown): void {
    this.settle();
    this.call?.abort();
    this.owner.refuse(
      new GatewayError('internal_error', 'a response interceptor failed', { cause: error }),
    );
  }

  /** The bytes would have to be decoded; relayed as they are, they would be a false answer. */
  private refuseCoding(): void {
    this.settle();
    this.call?.abort();
    const message = 'the answer has a transfer coding other than chunked';
    this.fail(upstreamError({ kind: 'invalid', message }, this.worker.baseUrl), false);
  }

  private tooLarge(): void {
    this.settle();
    this.call?.abort();
    this.worker.recordOutcome(this.status);
    if (this.owner.writer.headSent) {
      this.truncate();
      return;
    }
    const { maxPayloadSize } = this.owner.services.options;
    this.owner.refuse(
      new GatewayError('upstream_response_too_large', `the answer exceeds ${maxPayloadSize} bytes`),
    );
  }

  private truncate(): void {
    const { writer, exchange, services } = this.owner;
    services.metrics.truncatedStream(exchange.model, exchange.endpoint);
    // A body of announced length has no room for an event of ours.
    const { watch } = this;
    const hasRoom = watch !== undefined && this.relay?.contentLength === -1;
    writer.truncate(hasRoom ? truncationEvent(watch.isInsideEvent, exchange.requestId) : undefined);
  }

  /** Ends what an attempt holds, exactly once: its timers and its place in the worker's load. */
  private settle(): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.deadline);
    clearTimeout(this.headDelay);
    this.worker.endRequest(this.key);
    this.tracked?.over();
  }
}

function onDeadline(attempt: UpstreamAttempt): void {
  attempt.deadlinePassed();
}

function onHeadDelay(attempt: UpstreamAttempt): void {
  attempt.headDelayPassed();
}
