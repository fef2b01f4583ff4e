import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { headOf } from './request-head';

/** Settings of {@link createHardenedServer}. */
export interface HardenedServerOptions {
  /** The listener answers `Expect: 100-continue` of this request itself. */
  readonly answersExpectation?: (request: IncomingMessage) => boolean;
  /** Milliseconds for a complete request head. Default 10,000. */
  readonly headersTimeoutMs?: number;
}

/** Milliseconds; above the 75 s after which load balancers commonly drop idle connections. */
const KEEP_ALIVE_MS = 90_000;
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * An HTTP/1.1 server that refuses every message two readers could frame differently, before any
 * listener sees it: Node's parser catches most, the head scan the rest.
 */
export function createHardenedServer(
  options: HardenedServerOptions,
  listener: RequestListener,
): Server {
  const headersTimeout = options.headersTimeoutMs ?? 10_000;
  const server = createServer({
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout,
    // Uploads have an idle clock of their own; a total one would cut large, steady ones.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1000,
    noDelay: true,
    requireHostHeader: true,
  });
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (headOf(request).defect !== undefined) refuse(request, response);
    else listener(request, response);
  };
  server.on('request', serve);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const isSound = headOf(request).defect === undefined;
    if (isSound && options.answersExpectation?.(request) !== true) response.writeContinue();
    serve(request, response);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, ['connection', 'close', 'content-length', '0']);
    response.end();
  });
  server.on('clientError', answerParserError);
  return server;
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  response.on('error', ignore);
  request.on('error', ignore);
  response.writeHead(400, ['connection', 'close', 'content-length', '0']);
  response.end(() => {
    // What follows on this connection cannot be told from a body: nothing of it may be read.
    request.socket.destroy();
  });
}

const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function answerParserError(error: Error & { code?: string }, socket: Duplex): void {
  const carrier = socket as Duplex & { _httpMessage?: ServerResponse | null };
  // An answer under way must not be mixed with another one.
  const isBusy = carrier._httpMessage?.headersSent === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isBusy) {
    socket.destroy();
    return;
  }
  const line = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => {
    socket.destroy();
  });
}

function ignore(): void {
  // The connection is being closed anyway.
}
