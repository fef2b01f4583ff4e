import { GatewayError, REQUEST_ID, ROUTING_TOKENS } from '@smg/protocol';
import { attachedInterceptors, type ResponseInterceptor } from '@smg/plugin-api';
import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';
import { type ConnectionBudget } from './connection.budget';
import { type ClientHead } from './core/client-head';
import { type RequestIds } from './core/request-id';
import { type GatewayReply, replyOf } from './gateway-reply';
import { InferenceExchange, type HintHeaders } from './inference.exchange';
import { InferenceRun } from './inference.run';
import { asksForWebSocket } from './kinds/core/websocket-handshake';
import { OpenSockets } from './kinds/realtime/open-sockets';
import { SocketRun } from './kinds/realtime/socket.run';
import { headOf } from './request-head';
import { onResponseOver } from './response-over';
import { type HotRouteEntry } from './route-table';
import { type RunServices } from './run.services';

/** What a {@link DataPlaneServer} is made of. */
export interface DataPlaneParts {
  readonly services: RunServices;
  readonly routes: ReadonlyMap<string, HotRouteEntry>;
  readonly interceptors: () => readonly ResponseInterceptor[];
  readonly requestIds: RequestIds;
  readonly budget: ConnectionBudget;
}

/**
 * Serves the inference routes outside the framework's router: one exact look-up per request in a table
 * frozen at boot, everything else is handed back to the caller.
 */
export class DataPlaneServer {
  private readonly hints: HintHeaders;
  /** Requests the framework's router handed over; the rest of that lane it answered itself. */
  private readonly handedOver = new WeakSet<IncomingMessage>();
  private readonly sockets = new OpenSockets();

  constructor(private readonly parts: DataPlaneParts) {
    this.hints = Object.freeze({
      tokens: ROUTING_TOKENS,
      keys: parts.services.options.routingKeyHeaders.map((name) => name.toLowerCase()),
      isSticky: parts.services.options.stickyKeys,
    });
  }

  /** Counts the server's connections against the limit of open files; call once, before it listens. */
  watch(server: Server): void {
    this.parts.budget.watch(server);
  }

  /** Whether the path is one of ours, whichever lane serves it: its body is left to us. */
  owns(request: IncomingMessage): boolean {
    return this.parts.routes.has(pathOf(request.url ?? ''));
  }

  /** Paths of the data plane, as declared. */
  get paths(): readonly string[] {
    return [...this.parts.routes.keys()];
  }

  /** The id of any request of this server, by the same rules: a client's own, or one made here. */
  requestIdOf(request: IncomingMessage): string {
    return this.parts.requestIds.of(headOf(request), 'req-');
  }

  /** Answers 508 to what this gateway itself sent to a worker, such as a probe of a worker that is itself. */
  refusesLoop(request: IncomingMessage, response: ServerResponse): boolean {
    const head = headOf(request);
    if (!this.isOwn(head)) return false;
    const { status, headers, body } = replyOf(loop(), this.parts.requestIds.of(head, 'req-'));
    headers.push('content-length', String(Buffer.byteLength(body)), 'connection', 'close');
    response.on('error', ignore);
    request.on('error', ignore);
    response.writeHead(status, headers);
    response.end(body);
    return true;
  }

  /** Serves the request, or returns false: it is not a data-plane path, or the hot lane is off. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.parts.services.options.hotLane) return false;
    const url = request.url ?? '';
    const path = pathOf(url);
    const entry = this.parts.routes.get(path);
    if (entry === undefined) return false;
    this.run(entry, url.slice(path.length), request, response);
    return true;
  }

  /** Whether a request is to become a WebSocket of ours. @param target path and query. */
  wantsUpgrade(request: IncomingMessage, target: string): boolean {
    const entry = this.parts.routes.get(pathOf(target));
    if (entry?.facts.carries !== 'socket' || request.method !== 'GET') return false;
    const head = headOf(request);
    return head.header('host') !== undefined && asksForWebSocket(head);
  }

  /** Serves a request that {@link wantsUpgrade} said yes to; on either lane. */
  upgrade(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    const url = request.url ?? '';
    const path = pathOf(url);
    const entry = this.parts.routes.get(path);
    if (entry === undefined) {
      socket.destroy();
      return;
    }
    const { services, requestIds, interceptors } = this.parts;
    const head = headOf(request);
    const { facts } = entry;
    const requestId = requestIds.of(head, facts.idPrefix);
    const run = new SocketRun(services, {
      request,
      socket,
      early,
      head,
      route: facts,
      query: url.slice(path.length),
      exchange: new InferenceExchange(requestId, 'GET', facts, head, this.hints),
      interceptors: interceptors(),
      sockets: this.sockets,
    });
    run.start(this.refusalBefore(head));
  }

  /** Ends realtime sessions in good order: the process drains. */
  leaveSockets(): void {
    this.sockets.leaveAll();
  }

  /** Ends them now. */
  destroySockets(): void {
    this.sockets.destroyAll();
  }

  /** Whether the slow lane's run reports on this request itself. */
  reportsOn(request: IncomingMessage): boolean {
    return this.handedOver.has(request);
  }

  /** The slow lane's entrance: the framework's router has matched the route. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    this.handedOver.add(request);
    const url = request.url ?? '';
    const path = pathOf(url);
    // The router accepts a few spellings the table does not; they have no route here either.
    const entry = this.parts.routes.get(path);
    if (entry === undefined) {
      response.writeHead(404, ['content-length', '0']);
      response.end();
      return;
    }
    this.run(entry, url.slice(path.length), request, response);
  }

  private run(
    entry: HotRouteEntry,
    query: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { services, requestIds } = this.parts;
    const head = headOf(request);
    const requestId = requestIds.of(head, entry.facts.idPrefix);
    const method = request.method ?? '';
    if (method !== entry.method && !(method === 'HEAD' && entry.method === 'GET')) {
      this.refuseMethod(entry, request, response, requestId);
      return;
    }
    const exchange = new InferenceExchange(requestId, method, entry.facts, head, this.hints);
    const attached = attachedInterceptors(request);
    const run = new InferenceRun(services, {
      request,
      response,
      head,
      route: entry.facts,
      isPublic: entry.isPublic,
      query,
      exchange,
      interceptors: attached.length > 0 ? attached : this.parts.interceptors(),
    });
    run.start(this.refusalBefore(head));
  }

  private refusalBefore(head: ClientHead): GatewayError | undefined {
    if (this.isOwn(head)) return loop();
    return this.parts.budget.isSpent ? processFull() : undefined;
  }

  private isOwn(head: ClientHead): boolean {
    return head.via?.includes(this.parts.services.transport.via) === true;
  }

  private refuseMethod(
    entry: HotRouteEntry,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): void {
    const { observer, now } = this.parts.services;
    const startedAt = now();
    observer.started();
    const refusal = entry.isPublic ? undefined : this.refusalOf(request, requestId);
    const status = refusal?.status ?? 405;
    const length = Buffer.byteLength(refusal?.body ?? '');
    const headers = refusal?.headers ?? ['allow', entry.allow, REQUEST_ID, requestId];
    headers.push('content-length', String(length));
    if (headOf(request).hasBody) headers.push('connection', 'close');
    response.on('error', ignore);
    request.on('error', ignore);
    onResponseOver(request, response, () => {
      observer.finished({
        method: request.method ?? '',
        route: entry.facts.path,
        url: request.url ?? '',
        status,
        durationMs: now() - startedAt,
        requestId,
        errorCode: refusal === undefined ? undefined : 'invalid_api_key',
      });
    });
    response.writeHead(status, headers);
    response.end(refusal?.body);
  }

  /** Whoever may not call a route does not learn its methods either. */
  private refusalOf(request: IncomingMessage, requestId: string): GatewayReply | undefined {
    const { auth } = this.parts.services;
    const decision = auth.decide(headOf(request).authorization);
    if (decision.allowed) return undefined;
    auth.noteRefusal?.(decision);
    return replyOf(new GatewayError('invalid_api_key', decision.message), requestId);
  }
}

function processFull(): GatewayError {
  return new GatewayError('connection_limit_reached', 'the gateway has no free connections', {
    retryAfterSecs: 1,
  });
}

function loop(): GatewayError {
  return new GatewayError('loop_detected', 'a worker URL leads back to this gateway');
}

function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? url : url.slice(0, at);
}

function ignore(): void {
  // 'close' follows.
}
