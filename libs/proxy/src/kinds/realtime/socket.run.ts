import { GatewayError, REQUEST_ID, type ErrorCode } from '@smg/protocol';
import { type ResponseInterceptor, type WorkerPoolView } from '@smg/plugin-api';
import { type UpstreamCall, type UpstreamTunnel } from '@smg/upstream';
import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { admissionRequestOf } from '../../admission-request';
import { type ClientHead } from '../../core/client-head';
import { type RouteFacts } from '../../core/inference-routes';
import { FlatResponseHead } from '../../core/response-head';
import { type EntryOwner, EntryPlace } from '../../entry.place';
import { errorTypeOf } from '../../error-type';
import { asGatewayError } from '../../gateway-reply';
import { type InferenceExchange } from '../../inference.exchange';
import { type RouteCells } from '../../router.metrics';
import { type RoutableWorker, type RunServices } from '../../run.services';
import { describeNobody, shedAtDispatch, shedAtSelection } from '../../selection-answers';
import { takeShare, TenantShare } from '../../tenant.share';
import { type OpeningHandshake, readHandshake } from '../core/websocket-handshake';
import { poolOf } from '../labelled.pool';
import { replyOfRoute } from '../kind-replies';
import { refuseWithoutCredentials } from '../realtime-credentials';
import { EarlyBytes } from './early-bytes';
import { type EngineAnswer, EngineHandshake, type HandshakeOwner } from './engine-handshake';
import { modelInQuery, withModel } from './model-query';
import { type OpenSockets } from './open-sockets';
import { answerRaw, rawHead } from './raw-answer';
import { handshakeTo, tunnelHeaders } from './socket-heads';
import { SocketTunnel, type TunnelOwner } from './socket-tunnel';

const DEFAULT_IDLE_SECS = 600;
const SWITCHING = 101;

/** What a session is made of. */
export interface SocketParts {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came behind the head. */
  readonly early: Buffer;
  readonly head: ClientHead;
  readonly route: RouteFacts;
  /** `?…` of the request target, or empty. */
  readonly query: string;
  readonly exchange: InferenceExchange;
  readonly interceptors: readonly ResponseInterceptor[];
  readonly sockets: OpenSockets;
}

/** One realtime session from its handshake to the end of its connection. */
export class SocketRun implements EntryOwner, HandshakeOwner, TunnelOwner {
  /** An answer, or the 101, has been sent. */
  readonly writer = { headSent: false };
  private readonly startedAt: number;
  private status = 499;
  private errorCode: ErrorCode | undefined;
  private refusedCode: string | undefined;
  private pool: WorkerPoolView | undefined;
  private worker: RoutableWorker | undefined;
  private cells: RouteCells | undefined;
  private share: TenantShare | undefined;
  private place: EntryPlace | undefined;
  private passAuthorization = true;
  private tenant: string | undefined;
  private handshake: OpeningHandshake | undefined;
  private early: EarlyBytes | undefined;
  private call: UpstreamCall | undefined;
  private tunnel: SocketTunnel | undefined;
  private isBroken = false;
  private isFinished = false;

  constructor(
    private readonly services: RunServices,
    private readonly parts: SocketParts,
  ) {
    this.startedAt = services.now();
  }

  /** @param refusal an error found before the run. */
  start(refusal: GatewayError | undefined): void {
    const { socket } = this.parts;
    this.services.observer.started();
    socket.on('error', ignore);
    socket.once('close', this.onClose);
    this.guarded(() => {
      this.admit(refusal);
    });
  }

  enters(): void {
    // It may have waited for long.
    const refusal = this.refusalWhileDraining();
    if (refusal !== undefined) {
      this.reply(refusal, false);
      return;
    }
    this.guarded(() => {
      this.route();
    });
  }

  turnedAway(error: GatewayError): void {
    this.call?.abort();
    this.reply(error, false);
  }

  private admit(refusal: GatewayError | undefined): void {
    const { services, parts } = this;
    if (services.selector.refusesRequests) {
      const refused = services.selector.refusalOf((name) => parts.head.header(name));
      if (refused !== undefined) {
        this.refusedCode = refused.code;
        this.answer(refused.status, this.plain('application/json'), refused.body);
        return;
      }
    }
    const result = readHandshake(parts.head);
    const key = result.ok ? result.handshake.protocolKey : undefined;
    const error = refusal ?? this.authenticate(key) ?? this.refusalWhileDraining();
    if (error !== undefined) {
      this.reply(error, false);
      return;
    }
    if (!result.ok) {
      const code = result.isVersion ? 'upgrade_required' : 'invalid_request';
      this.reply(new GatewayError(code, result.problem), false);
      return;
    }
    this.handshake = result.handshake;
    this.early = new EarlyBytes(parts.socket, parts.early);
    if (services.entry === undefined) {
      this.route();
      return;
    }
    this.place = new EntryPlace(this);
    this.place.take(services.entry, this.admissionRequest());
  }

  /** @param protocolKey what a page said in place of a header it cannot set. */
  private authenticate(protocolKey: string | undefined): GatewayError | undefined {
    const { auth } = this.services;
    const { authorization } = this.parts.head;
    const isPage = authorization === undefined && protocolKey !== undefined;
    const decision = auth.decide(isPage ? `Bearer ${protocolKey}` : authorization);
    this.passAuthorization = decision.allowed && !decision.consumesAuthorization;
    if (decision.allowed) {
      this.tenant = decision.tenant;
      return undefined;
    }
    auth.noteRefusal?.(decision);
    return new GatewayError('invalid_api_key', decision.message);
  }

  private refusalWhileDraining(): GatewayError | undefined {
    if (!this.services.lifecycle.isDraining) return undefined;
    const message = 'the gateway is shutting down';
    return new GatewayError('service_unavailable', message, { retryAfterSecs: 1 });
  }

  private route(): void {
    const { services, parts } = this;
    const { exchange } = parts;
    const name = modelInQuery(parts.query);
    if (!name.ok) {
      this.reply(new GatewayError('invalid_request', name.problem), false);
      return;
    }
    const pool = poolOf(services.directory, parts.route, name.model);
    const isKnown = pool !== undefined && pool.workers.length > 0;
    const model = isKnown ? pool.model : undefined;
    this.cells = services.metrics.cellsOf(model, exchange.endpoint, true);
    this.cells.requests.inc();
    if (!isKnown) {
      const message = `No worker available for model '${name.model}'`;
      this.reply(new GatewayError('model_not_found', message), false);
      return;
    }
    this.pool = pool;
    exchange.model = pool.model;
    const refusal = this.charge();
    if (refusal === undefined) this.select(pool, name.model);
    else this.reply(refusal, false);
  }

  private charge(): GatewayError | undefined {
    const { admission } = this.services;
    if (admission === undefined) return undefined;
    const facts = { json: {}, model: '', namesModel: true, wantsStream: true };
    const share = takeShare(admission, this.admissionRequest(), this.parts.exchange, {
      facts,
      unreadBytes: 0,
    });
    if (!(share instanceof TenantShare)) return share;
    this.share = share;
    return undefined;
  }

  /** @param sentName the model as the client names it. */
  private select(pool: WorkerPoolView, sentName: string): void {
    const { services, parts } = this;
    const { exchange } = parts;
    exchange.attempt = 1;
    const outcome = services.selector.leastBusy(pool, exchange);
    if (outcome.kind !== 'selected') {
      const shed = shedAtSelection(pool, outcome, services);
      this.reply(shed ?? describeNobody(pool, outcome), false);
      return;
    }
    const worker = outcome.worker as RoutableWorker;
    const credential = parts.head.authorization ?? this.handshake?.protocolKey;
    const refusal =
      shedAtDispatch(worker, services) ?? refuseWithoutCredentials(parts.route, credential, worker);
    if (refusal === undefined) this.dispatch(worker, sentName);
    else this.reply(refusal, false);
  }

  private dispatch(worker: RoutableWorker, sentName: string): void {
    const { services, parts, handshake } = this;
    const { exchange } = parts;
    if (handshake === undefined) return;
    exchange.routedWorker = worker;
    for (const interceptor of parts.interceptors) interceptor.onDispatch(exchange);
    const isAlias = exchange.model !== sentName && this.pool?.model !== undefined;
    const request = handshakeTo(worker, {
      path: parts.route.path + (isAlias ? withModel(parts.query, exchange.model) : parts.query),
      head: parts.head,
      handshake,
      passAuthorization: this.passAuthorization,
    });
    this.worker = worker;
    worker.beginRequest(exchange.keyInFlight);
    this.share?.dispatched();
    this.call = new EngineHandshake(this, handshake.key, worker).start(services.transport, request);
  }

  onEngineTunnel(tunnel: UpstreamTunnel): void {
    const { parts, services, worker } = this;
    const { exchange, socket } = parts;
    services.metrics.answered(SWITCHING);
    worker?.recordOutcome(SWITCHING);
    this.share?.answered(true);
    const headers = [...tunnelHeaders(tunnel.rawHeaders), REQUEST_ID, exchange.requestId];
    const head = new FlatResponseHead(SWITCHING, true, headers);
    try {
      for (const interceptor of parts.interceptors) interceptor.onHead(head, exchange);
    } catch (cause) {
      tunnel.socket.destroy();
      this.reply(
        new GatewayError('internal_error', 'a response interceptor failed', { cause }),
        false,
      );
      return;
    }
    this.writer.headSent = true;
    this.status = SWITCHING;
    socket.write(Buffer.from(rawHead(SWITCHING, head.headers), 'latin1'));
    const idleSecs = services.options.realtimeIdleTimeoutSecs ?? DEFAULT_IDLE_SECS;
    this.tunnel = new SocketTunnel(socket, tunnel.socket, idleSecs * 1000, this);
    parts.sockets.add(this.tunnel);
    this.tunnel.start(this.early?.take() ?? parts.early);
    if (parts.sockets.areLeaving) this.tunnel.leave();
  }

  onEngineAnswer({ status, contentType, body }: EngineAnswer): void {
    this.services.metrics.answered(status);
    this.worker?.recordOutcome(status);
    this.share?.answered(false);
    this.answer(status, this.stamped(status, this.plain(contentType)), body);
  }

  onEngineFailure(error: GatewayError): void {
    if (this.worker !== undefined) {
      const isTimeout = error.code === 'call_upstream_timeout';
      this.services.metrics.workerFailed(this.worker, isTimeout ? 'timeout' : 'backend_error');
      this.worker.recordTransportFailure(error.status);
    }
    this.reply(error, true);
  }

  onTunnelOver(isBroken: boolean): void {
    const { tunnel, worker, services } = this;
    if (tunnel !== undefined) this.parts.sockets.remove(tunnel);
    this.isBroken = isBroken;
    if (!isBroken || worker === undefined) return;
    worker.recordTransportFailure(502);
    services.metrics.workerFailed(worker, 'backend_error');
    services.metrics.truncatedStream(this.parts.exchange.model, this.parts.exchange.endpoint);
  }

  private reply(error: GatewayError, isStamped: boolean): void {
    if (this.isFinished || this.writer.headSent) return;
    const { exchange, route } = this.parts;
    this.errorCode = error.code;
    if (error.level === 'error') this.logFault(error.message, error.cause);
    if (!isStamped) exchange.routedWorker = undefined;
    const { status, headers, body } = replyOfRoute(route, error, exchange.requestId);
    if (status === 426) headers.push('sec-websocket-version', '13', 'upgrade', 'websocket');
    if (isStamped) this.services.metrics.minted(status, error.code);
    this.answer(status, isStamped ? this.stamped(status, headers) : headers, body);
  }

  private stamped(status: number, headers: string[]): string[] {
    const head = new FlatResponseHead(status, false, headers);
    try {
      for (const interceptor of this.parts.interceptors)
        interceptor.onHead(head, this.parts.exchange);
    } catch (error) {
      this.logFault('a response interceptor failed on an error answer', error);
    }
    return head.headers;
  }

  private plain(contentType: string): string[] {
    const headers = [REQUEST_ID, this.parts.exchange.requestId];
    if (contentType !== '') headers.unshift('content-type', contentType);
    return headers;
  }

  private answer(status: number, headers: readonly string[], body: Buffer | string): void {
    this.writer.headSent = true;
    this.status = status;
    this.early?.take();
    answerRaw(this.parts.socket, status, headers, body);
  }

  private admissionRequest(): ReturnType<typeof admissionRequestOf> {
    return admissionRequestOf(this.parts.request, this.parts.head, this.tenant);
  }

  private guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.reply(asGatewayError(error), false);
    }
  }

  private logFault(message: string, cause: unknown): void {
    this.services.logFault(message, cause, this.parts.exchange.requestId);
  }

  private readonly onClose = (): void => {
    if (this.isFinished) return;
    this.isFinished = true;
    const { exchange } = this.parts;
    // Also where an error is known: a place that nobody leaves is lost for good.
    const left = this.place?.leave();
    this.errorCode ??= left;
    this.call?.abort();
    this.worker?.endRequest(exchange.keyInFlight);
    this.share?.over(!this.writer.headSent);
    this.record();
  };

  private record(): void {
    const { services, parts, status } = this;
    const { exchange } = parts;
    const durationMs = services.now() - this.startedAt;
    this.cells?.duration.observe(durationMs / 1000);
    const errorType = this.isBroken ? 'backend_error' : errorTypeOf(status, this.errorCode);
    if (errorType !== undefined) {
      services.metrics.failed(this.pool?.model, exchange.endpoint, errorType);
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
      model: this.pool?.model,
      attempts: exchange.attempt,
      clientGone: status === 499,
      truncated: this.isBroken,
    });
  }
}

function ignore(): void {
  // 'close' follows and ends the session.
}
