import { GatewayError, REQUEST_ID, type ErrorCode } from '@smg/protocol';
import {
  type Admission,
  type AdmissionRequest,
  type AnswerRecording,
  type RequestRefusal,
  type ResponseInterceptor,
  type SelectionOutcome,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { type UpstreamRequest } from '@smg/upstream';
import { bodyError, declaredTooLarge } from './body-errors';
import { type BodyFailure } from './body.reader';
import { ClientWriter, type WritableListener } from './client.writer';
import { backoffMs } from './core/backoff';
import { admissionRequestOf } from './admission-request';
import { type RequestFacts } from './core/request-facts';
import { asGatewayError, type GatewayReply } from './gateway-reply';
import { type EntryOwner, EntryPlace } from './entry.place';
import { errorTypeOf } from './error-type';
import { type InferenceExchange } from './inference.exchange';
import { type AnswerRules, answerRulesOf } from './kinds/answer-rules';
import { type Intake, type IntakeListener } from './kinds/intake';
import { replyFor } from './kinds/kind-replies';
import { openIntake } from './kinds/open-intake';
import { NO_BODY, type OutgoingBody } from './kinds/outgoing-body';
import { refuseWithoutCredentials } from './kinds/realtime-credentials';
import { eventReply, pairRun, targetOf, unsupported } from './pd/open-pair';
import { type PairHost } from './pd/pair-host';
import { type PairRun } from './pd/pair.run';
import { DEFAULT_SELECTION_RETRY, ONE_ATTEMPT, type SelectionRetry } from './proxy.options';
import { onResponseOver } from './response-over';
import { type BackendType, type RouteCells } from './router.metrics';
import { requestTo } from './request-to';
import { type RunParts } from './run.parts';
import { type RoutableWorker, type RunServices } from './run.services';
import { describeNobody, firstReady, shedAtDispatch, shedAtSelection } from './selection-answers';
import { recordingOf } from './recording-of';
import { takeShare, TenantShare } from './tenant.share';
import { type AttemptOwner, type RunningAttempt, UpstreamAttempt } from './upstream.attempt';
import { stampAnswer, writeAnswer } from './write-answer';

/**
 * One request from its head to its last byte: credentials, body, facts, then attempts until one
 * answer or error reaches the client. Whatever order aborts, errors and ends come in, the end of
 * the response finishes the run, once.
 */
export class InferenceRun
  implements PairHost, AttemptOwner, IntakeListener, EntryOwner, WritableListener
{
  readonly exchange: InferenceExchange;
  readonly writer: ClientWriter;
  readonly interceptors: readonly ResponseInterceptor[];
  /** What the request has taken from its tenant's budget. */
  share: TenantShare | undefined;
  /** Keeps the answer; undefined when nobody wants it. */
  recording: AnswerRecording | undefined;
  /** Undefined where answers are relayed as they are. */
  rules: AnswerRules | undefined;
  private readonly startedAt: number;
  private body: OutgoingBody = NO_BODY;
  private pool: WorkerPoolView | undefined;
  private cells: RouteCells | undefined;
  /** Undefined for a request that one worker serves. */
  private pair: PairRun | undefined;
  /** The one that runs. */
  attempt: RunningAttempt | undefined;
  private intake: Intake | undefined;
  private backoff: NodeJS.Timeout | undefined;
  private passAuthorization = true;
  private authenticatedTenant: string | undefined;
  /** Its place among the requests in flight, or in the queue; undefined while nothing limits them. */
  private place: EntryPlace | undefined;
  private model: string | undefined;
  private rewritesModel = false;
  private backend: BackendType = 'regular';
  private pathIndex = 0;
  private errorCode: ErrorCode | undefined;
  /** Code of a filter's refusal; a plug-in's, so not one of our table. */
  private refusedCode: string | undefined;
  private isFinished = false;

  constructor(
    readonly services: RunServices,
    private readonly parts: RunParts,
  ) {
    this.exchange = parts.exchange;
    this.interceptors = parts.interceptors;
    this.startedAt = services.now();
    this.writer = new ClientWriter(
      parts.request,
      parts.response,
      services.options.streamStallTimeoutSecs * 1000,
      this,
      services.lifecycle,
    );
  }

  /** @param refusal an error found before the run, such as a full process. */
  start(refusal?: GatewayError): void {
    const { parts } = this;
    this.services.observer.started();
    onResponseOver(parts.request, parts.response, this.onClose);
    this.guarded(() => {
      this.admit(refusal);
    });
  }

  private admit(refusal: GatewayError | undefined): void {
    const { parts, services } = this;
    if (services.selector.refusesRequests) {
      const refused = services.selector.refusalOf((name) => this.exchange.header(name));
      if (refused !== undefined) {
        this.refuseRequest(refused);
        return;
      }
    }
    const error = refusal ?? this.authenticate() ?? declaredTooLarge(parts.head, services.options);
    if (error !== undefined) {
      this.reply(error, false);
      return;
    }
    if (this.exchange.endpoint === 'info') {
      this.cells = services.metrics.cellsOf(undefined, 'info', false);
      this.cells.requests.inc();
      this.next();
      return;
    }
    if (services.entry === undefined || parts.isPublic) {
      this.takeBody();
      return;
    }
    this.place = new EntryPlace(this);
    this.place.take(services.entry, this.admissionRequest());
  }

  private admissionRequest(): AdmissionRequest {
    return admissionRequestOf(this.parts.request, this.parts.head, this.authenticatedTenant);
  }

  turnedAway(error: GatewayError): void {
    this.stop();
    this.reply(error, false);
  }

  enters(): void {
    this.guarded(() => {
      this.takeBody();
    });
  }

  private takeBody(): void {
    const { parts, services } = this;
    // Only now is the body wanted: a refused client never sends it.
    if (parts.head.expectsContinue) parts.response.writeContinue();
    this.intake = openIntake(services, parts, this);
    this.intake.start();
  }

  onUnreadable(error: GatewayError): void {
    this.reply(error, false);
  }

  onRequest(facts: RequestFacts, body: OutgoingBody): void {
    const { services, exchange } = this;
    const { route } = this.parts;
    if (!facts.namesModel && services.options.requireModel && exchange.endpoint === 'generate') {
      this.reply(new GatewayError('missing_model', 'the request names no model'), false);
      return;
    }
    this.body = body;
    this.writer.isUploading = body.unreadBytes > 0;
    exchange.learn(facts);
    const target = targetOf(services, route, facts.model);
    if (target === 'unsupported') {
      this.answer(...unsupported(route, exchange.requestId), false);
      return;
    }
    const { pool } = target;
    this.backend = target.backend;
    const isKnown = pool !== undefined && pool.workers.length > 0;
    this.model = isKnown ? pool.model : undefined;
    const { endpoint } = exchange;
    this.cells = services.metrics.cellsOf(this.model, endpoint, facts.wantsStream, this.backend);
    this.cells.requests.inc();
    if (!isKnown) {
      const message = `No worker available for model '${facts.model}'`;
      this.reply(new GatewayError('model_not_found', message), false);
      return;
    }
    this.pool = pool;
    exchange.model = pool.model;
    this.rewritesModel = facts.namesModel && pool.model !== facts.model;
    this.pair = pairRun(this, target, facts);
    this.rules = answerRulesOf(route, facts, pool.model);
    this.recording = recordingOf(services, exchange, facts, this.authenticatedTenant);
    if (services.admission === undefined) this.next();
    else this.admitted(services.admission, facts);
  }

  onBodyFailure(failure: BodyFailure): void {
    // A body that is passed on may fail while a worker has half of it: the worker is not to blame.
    this.attempt?.clientGone();
    this.reply(bodyError(failure, this.services.options, this.body), false);
  }

  get isOver(): boolean {
    return this.isFinished;
  }

  get bytes(): Buffer {
    return this.body.sent({ model: undefined, dpRank: undefined }).body ?? Buffer.alloc(0);
  }

  requestTo(worker: RoutableWorker, body: Buffer): UpstreamRequest {
    const { parts, pathIndex, passAuthorization } = this;
    return requestTo(worker, { parts, pathIndex, passAuthorization, sent: { body } });
  }

  onWritable(): void {
    this.attempt?.resume();
  }

  retryAnswer(status: number): boolean {
    const worker = this.attempt?.worker;
    if (worker === undefined || this.isFinished) return this.isFinished;
    if (this.exchange.endpoint === 'info') return this.tryNextPath(status, worker);
    return worker.retryableStatusCodes.has(status) && this.again(worker.retry, undefined);
  }

  retryFailure(error: GatewayError): void {
    const worker = this.attempt?.worker;
    if (worker === undefined || !this.again(worker.retry, worker)) this.reply(error, true);
  }

  refuse(error: GatewayError): void {
    this.reply(error, true);
  }

  committed(): void {
    // One that is still being passed on goes on: an engine may answer before it has everything.
    if (this.body.isRepeatable) this.body = NO_BODY;
    this.exchange.forgetBody();
  }

  private authenticate(): GatewayError | undefined {
    const decision = this.services.auth.decide(this.parts.head.authorization);
    // A refused credential on a public route is still not the engine's business.
    this.passAuthorization = decision.allowed && !decision.consumesAuthorization;
    if (decision.allowed) this.authenticatedTenant = decision.tenant;
    if (decision.allowed || this.parts.isPublic) return undefined;
    this.services.auth.noteRefusal?.(decision);
    return new GatewayError('invalid_api_key', decision.message);
  }

  /** Goes on when the tenant's budget has room for the request. */
  private admitted(admission: Admission, facts: RequestFacts): void {
    this.guarded(() => {
      const share = takeShare(admission, this.admissionRequest(), this.exchange, {
        facts,
        unreadBytes: this.body.unreadBytes,
      });
      if (share instanceof TenantShare) {
        this.share = share;
        this.next();
      } else {
        this.reply(share, false);
      }
    });
  }

  /** The next attempt: select, then dispatch. */
  private next(avoid?: WorkerView): void {
    this.exchange.attempt += 1;
    this.attempt = undefined;
    this.guarded(() => {
      if (this.pair !== undefined) {
        this.pair.next();
        return;
      }
      const worker = this.select(avoid);
      if (worker !== undefined) this.dispatch(worker);
    });
  }

  /** A fault of ours, or of a plug-in, fails this request and nothing else. */
  private guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.reply(asGatewayError(error), false);
    }
  }

  private select(avoid: WorkerView | undefined): RoutableWorker | undefined {
    const { services, exchange, pool } = this;
    if (pool === undefined) {
      const ready = firstReady(services.directory, avoid);
      if (ready === undefined)
        this.reply(new GatewayError('no_workers', 'No worker is ready'), false);
      return ready as RoutableWorker | undefined;
    }
    const outcome =
      this.parts.route.isRealtime === true
        ? services.selector.leastBusy(pool, exchange)
        : services.selector.select(pool, exchange, avoid);
    // The directory of this process holds registry workers only.
    if (outcome.kind === 'selected') return outcome.worker as RoutableWorker;
    this.nobody(pool, outcome);
    return undefined;
  }

  private nobody(
    pool: WorkerPoolView,
    outcome: Exclude<SelectionOutcome, { kind: 'selected' }>,
  ): void {
    const shed = shedAtSelection(pool, outcome, this.services);
    const { retry, retriesDisabled } = this.services.options;
    const settings = retriesDisabled ? ONE_ATTEMPT : (retry ?? DEFAULT_SELECTION_RETRY);
    if (shed !== undefined) this.reply(shed, false);
    else if (!this.again(settings, undefined)) this.reply(describeNobody(pool, outcome), false);
  }

  private dispatch(worker: RoutableWorker): void {
    const { exchange, parts } = this;
    const isInfo = exchange.endpoint === 'info';
    const refusal = isInfo ? undefined : this.refusalAtDispatch(worker);
    if (refusal !== undefined) {
      this.reply(refusal, false);
      return;
    }
    exchange.routedWorker = worker;
    for (const interceptor of this.interceptors) interceptor.onDispatch(exchange);
    const model = this.rewritesModel ? exchange.model : undefined;
    const request = requestTo(worker, {
      parts,
      pathIndex: this.pathIndex,
      passAuthorization: this.passAuthorization,
      sent: isInfo ? undefined : this.body.sent({ model, dpRank: worker.dpRank }),
    });
    // Nothing may fail between these two: what is ended must have begun.
    const attempt = new UpstreamAttempt(this, worker);
    this.attempt = attempt;
    attempt.start(request);
  }

  private refusalAtDispatch(worker: RoutableWorker): GatewayError | undefined {
    const { route, head } = this.parts;
    return (
      shedAtDispatch(worker, this.services) ??
      refuseWithoutCredentials(route, head.authorization, worker)
    );
  }

  /** Engines name their information routes differently: after a 404 the other name is tried. */
  private tryNextPath(status: number, worker: RoutableWorker): boolean {
    if (status !== 404 || this.pathIndex + 1 >= this.parts.route.enginePaths.length) return false;
    this.pathIndex += 1;
    // Not from inside the client's parser, which is still handing over the first answer.
    this.backoff = setTimeout(() => {
      this.guarded(() => {
        this.dispatch(worker);
      });
    }, 0);
    return true;
  }

  /** Schedules another attempt. @returns false when none is left. */
  again(settings: SelectionRetry, avoid?: WorkerView): boolean {
    if (this.isFinished) return true;
    if (!this.body.isRepeatable) return false;
    const { attempt, endpoint } = this.exchange;
    if (attempt >= settings.maxAttempts) {
      if (settings.maxAttempts > 1) this.services.metrics.gaveUp(endpoint, this.backend);
      return false;
    }
    this.services.metrics.retried(endpoint, this.backend);
    const delay = backoffMs(settings, attempt + 1, this.services.random());
    this.backoff = setTimeout(() => {
      this.next(avoid);
    }, delay);
    return true;
  }

  /** Answers with an error the gateway made. @param isStamped a worker caused it. */
  reply(error: GatewayError, isStamped: boolean): void {
    const { route } = this.parts;
    this.answer(error, replyFor(this, route, error), isStamped);
  }

  replyEvent(error: GatewayError, status: number, event: string): void {
    this.answer(error, eventReply(error, status, event, this.exchange.requestId), true);
  }

  private answer(error: GatewayError, reply: GatewayReply, isStamped: boolean): void {
    if (this.isFinished || this.writer.headSent) return;
    this.committed();
    this.errorCode = error.code;
    if (error.level === 'error') {
      this.services.logFault(error.message, error.cause, this.exchange.requestId);
    }
    if (!isStamped) this.exchange.routedWorker = undefined;
    if (isStamped) stampAnswer(this, reply, error.code);
    writeAnswer(this.parts, this.writer, reply, error.code);
    // Nothing is at work for it any more, however long its upload is still read.
    this.place?.leave();
  }

  /** A filter cannot understand the request's headers: its own answer, before anything else. */
  private refuseRequest({ status, code, body }: RequestRefusal): void {
    this.refusedCode = code;
    const headers = ['content-type', 'application/json', REQUEST_ID, this.exchange.requestId];
    writeAnswer(this.parts, this.writer, { status, headers, body });
  }

  private readonly onClose = (): void => {
    if (this.isFinished) return;
    this.isFinished = true;
    this.release();
    this.record();
  };

  /** Lets go of everything the run still holds. */
  private release(): void {
    const left = this.place?.leave();
    this.errorCode ??= left;
    this.stop();
    this.share?.over(!this.writer.headSent);
    this.writer.dispose();
  }

  /** Neither a byte of the body, nor one of an answer, nor another attempt from here on. */
  private stop(): void {
    clearTimeout(this.backoff);
    this.intake?.cancel();
    this.body.release?.();
    this.attempt?.clientGone();
  }

  /** Tells metrics and the observer how it went; once. */
  private record(): void {
    const { parts, services, exchange, writer } = this;
    const isWhole = parts.response.writableFinished;
    const durationMs = services.now() - this.startedAt;
    const status = writer.headSent ? writer.status : 499;
    this.cells?.duration.observe(durationMs / 1000);
    const isCut = writer.truncated;
    const errorType = isCut ? 'backend_error' : errorTypeOf(status, this.errorCode);
    if (errorType !== undefined) {
      services.metrics.failed(this.model, exchange.endpoint, errorType, this.backend);
    }
    services.observer.finished({
      method: exchange.method,
      route: exchange.route,
      url: parts.request.url ?? '',
      status,
      durationMs,
      requestId: exchange.requestId,
      errorCode: this.errorCode ?? this.refusedCode,
      worker: exchange.routedWorker?.url,
      model: this.model,
      attempts: exchange.attempt,
      clientGone: !isWhole && !writer.truncated,
      truncated: writer.truncated,
    });
  }
}
