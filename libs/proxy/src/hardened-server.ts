import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { headOf } from './request-head';
import { createTlsServer, type ServerTls } from './tls-server';
import { takeUpgrades, type Upgrades } from './upgrade-requests';

/** Settings of {@link createHardenedServer}. */
export interface HardenedServerOptions {
  /** The listener answers `Expect: 100-continue` of this request itself. */
  readonly answersExpectation?: (request: IncomingMessage) => boolean;
  /** Milliseconds for a complete request head. Default 10,000. */
  readonly headersTimeoutMs?: number;
  /** Other protocols; without it every request is HTTP, whatever it offers. */
  readonly upgrades?: Upgrades;
  /** Speak TLS; plain when left out. */
  readonly tls?: ServerTls | undefined;
}

/** Milliseconds; above the 75 s after which load balancers commonly drop idle connections. */
const KEEP_ALIVE_MS = 90_000;
const MAX_HEAD_BYTES = 64 * 1024;
/** Header lines. Node would hide those past its own limit of 2,000 from some readers, not from all. */
const MAX_HEADERS = 256;
/** Milliseconds a client that broke the protocol has for taking what was written to it. */
const LAST_BYTES_MS = 1000;

/**
 * An HTTP/1.1 server that refuses every message two readers could frame differently, before any
 * listener sees it: Node's parser catches most, the head scan the rest.
 */
export function createHardenedServer(
  options: HardenedServerOptions,
  listener: RequestListener,
): Server {
  const headersTimeout = options.headersTimeoutMs ?? 10_000;
  const settings: ServerOptions = {
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout,
    // Uploads have an idle clock of their own; a total one would cut large, steady ones.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1000,
    noDelay: true,
    requireHostHeader: true,
  };
  const { tls } = options;
  const server = tls === undefined ? createServer(settings) : createTlsServer(settings, tls);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    (request as Answered)[RESPONSE] = response;
    if (!isSound(request)) refuse(request, response, 400);
    else if (hasTooManyHeaders(request)) refuse(request, response, 431);
    else listener(request, response);
  };
  server.on('request', serve);
  const { upgrades } = options;
  if (upgrades !== undefined) {
    takeUpgrades(server, {
      wants: (request) =>
        isSound(request) && !hasTooManyHeaders(request) && upgrades.wants(request),
      serve: (request, socket, early) => {
        upgrades.serve(request, socket, early);
      },
    });
  }
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const sound = isSound(request) && !hasTooManyHeaders(request);
    if (sound && !headOf(request).expectsContinue) {
      // Node takes a list that names it among others for the expectation itself.
      refuseExpectation(request, response);
      return;
    }
    if (sound && options.answersExpectation?.(request) !== true) response.writeContinue();
    serve(request, response);
  });
  server.on('checkExpectation', refuseExpectation);
  server.on('connect', refuseTunnel);
  server.on('clientError', answerParserError);
  return server;
}

/** Node's parser also reads HTTP/0.9 and 2.0, and chunks in HTTP/1.0, which has none. */
function isSound(request: IncomingMessage): boolean {
  const { defect, isChunked } = headOf(request);
  if (defect !== undefined || request.httpVersionMajor !== 1) return false;
  return request.httpVersionMinor > 0 || !isChunked;
}

/** The raw list holds names and values. */
function hasTooManyHeaders(request: IncomingMessage): boolean {
  return request.rawHeaders.length > 2 * MAX_HEADERS;
}

/** CONNECT; without a listener Node closes the connection and says nothing. */
function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  socket.on('error', ignore);
  socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  closeSoon(socket);
}

function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, ['connection', 'close', 'content-length', '0']);
  response.end();
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.on('error', ignore);
  request.on('error', ignore);
  response.writeHead(status, ['connection', 'close', 'content-length', '0']);
  response.end(() => {
    // What follows on this connection cannot be told from a body: nothing of it may be read.
    request.socket.destroy();
  });
}

const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Connections that end with the answer they wait for; each further piece of garbage is an error again. */
const ending = new WeakSet<Duplex>();

const RESPONSE = Symbol('smg.response');
type Answered = IncomingMessage & { [RESPONSE]?: ServerResponse };

/** What Node hangs on a server's socket while it reads and answers. */
type ServerSocket = Duplex & {
  readonly _httpMessage?: ServerResponse | null;
  readonly parser?: { readonly incoming?: Answered | null } | null;
};

function answerParserError(error: Error & { code?: string }, stream: Duplex): void {
  const socket = stream as ServerSocket;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const owed = owedAnswer(socket);
  if (owed !== undefined) {
    endAfter(owed, socket);
    return;
  }
  // The broken message may have its answer already, a 401 say: it gets no second one.
  const isAnswered = answerOf(socket)?.headersSent === true;
  if (isAnswered || socket._httpMessage?.headersSent === true) {
    // Node gathers small writes until the next tick; let the answer out before the end.
    while (socket.writableCorked > 0) socket.uncork();
    socket.end();
    closeSoon(socket);
    return;
  }
  const line = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  closeSoon(socket);
}

/** The answer to a sound message, complete before the broken one began, that is not sent yet. */
function owedAnswer(socket: ServerSocket): ServerResponse | undefined {
  const last = socket.parser?.incoming ?? undefined;
  const response = last?.complete === true ? last[RESPONSE] : undefined;
  return response?.writableFinished === false ? response : undefined;
}

/** What was asked in good order is answered; then the connection ends, and nothing more is read from it. */
function endAfter(response: ServerResponse, socket: ServerSocket): void {
  if (ending.has(socket)) return;
  ending.add(socket);
  if (!response.headersSent) response.shouldKeepAlive = false;
  response.once('finish', () => {
    socket.end();
    closeSoon(socket);
  });
}

/** The response of the message that was being read when the parser gave up. */
function answerOf(socket: ServerSocket): ServerResponse | undefined {
  const incoming = socket.parser?.incoming ?? undefined;
  return incoming?.[RESPONSE];
}

/** Closes once what was written is taken, or after a moment if nobody takes it. */
function closeSoon(socket: Duplex): void {
  const close = (): void => {
    clearTimeout(timer);
    socket.destroy();
  };
  const timer = setTimeout(close, LAST_BYTES_MS);
  socket.once('close', close);
  if (socket.writableFinished) close();
  else socket.once('finish', close);
}

function ignore(): void {
  // The connection is being closed anyway.
}
