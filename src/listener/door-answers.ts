import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type RequestObserver } from '@smg/plugin-api';
import { ERROR_CODE, ERROR_CODES, REQUEST_ID, renderErrorEnvelope } from '@smg/protocol';
import { type Duplex } from 'node:stream';
import { answerRaw, headOf, onResponseOver } from '@smg/proxy';
import { MAX_TARGET_LENGTH } from './request-target';

/** What the door needs to answer by itself. */
export interface DoorServices {
  readonly observer: RequestObserver;
  readonly requestIdOf: (request: IncomingMessage) => string;
}

interface DoorAnswer {
  readonly status: number;
  /** Flat list, without framing and request id. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly errorCode?: string;
}

/** The whole answer to a preflight; it says nothing about whether the path exists. */
export function answerPreflight(
  services: DoorServices,
  request: IncomingMessage,
  response: ServerResponse,
  headers: readonly string[],
): void {
  answer(services, request, response, { status: 204, headers });
}

/** A path that names no route, not even an unknown one. */
export function refuseUnreadablePath(
  services: DoorServices,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  answer(services, request, response, { status: 404, headers: ['content-length', '0'] });
}

export function refuseLongTarget(
  services: DoorServices,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const errorCode = 'request_uri_too_long';
  const { status } = ERROR_CODES[errorCode];
  const message = `the request target is longer than ${MAX_TARGET_LENGTH} characters`;
  answer(services, request, response, {
    status,
    headers: ['content-type', 'application/json', ERROR_CODE, errorCode],
    body: renderErrorEnvelope(status, errorCode, message),
    errorCode,
  });
}

/** A page of an origin that is not on the list asks for a WebSocket. */
export function refuseOrigin(
  { observer, requestIdOf }: DoorServices,
  request: IncomingMessage,
  socket: Duplex,
): void {
  const startedAt = performance.now();
  const requestId = requestIdOf(request);
  observer.started();
  socket.on('error', ignore);
  socket.once('close', () => {
    observer.finished({
      method: request.method ?? '',
      route: 'other',
      url: request.url ?? '',
      status: 403,
      durationMs: performance.now() - startedAt,
      requestId,
    });
  });
  answerRaw(socket, 403, [REQUEST_ID, requestId], '');
}

/** Answers before any lane sees the request; counted and logged like every other. */
function answer(
  { observer, requestIdOf }: DoorServices,
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, errorCode }: DoorAnswer,
): void {
  const startedAt = performance.now();
  const requestId = requestIdOf(request);
  response.on('error', ignore);
  request.on('error', ignore);
  observer.started();
  onResponseOver(request, response, () => {
    observer.finished({
      method: request.method ?? '',
      route: 'other',
      url: request.url ?? '',
      status: response.headersSent ? status : 499,
      durationMs: performance.now() - startedAt,
      requestId,
      errorCode,
    });
  });
  const sent = [REQUEST_ID, requestId, ...headers];
  if (body !== undefined) sent.push('content-length', String(Buffer.byteLength(body)));
  // A body nobody will read: what follows it must not be taken for a request.
  if (headOf(request).hasBody) sent.push('connection', 'close');
  response.writeHead(status, sent);
  response.end(body);
}

function ignore(): void {
  // 'close' follows.
}
