import { constants } from 'node:crypto';
import { type ServerOptions } from 'node:http';
import { createServer, Server } from 'node:https';
import { type Socket } from 'node:net';
import { type SecureContextOptions, type TLSSocket } from 'node:tls';

/** Who the server is: PEM texts. */
export interface ServerIdentity {
  /** Certificate chain, the server's own first. */
  readonly cert: string;
  readonly key: string;
}

/** Why a handshake came to nothing; `closed` is also what a port check of a load balancer looks like. */
export type HandshakeFailure = 'closed' | 'protocol' | 'timeout';

/** TLS of a listener. */
export interface ServerTls extends ServerIdentity {
  /** @param code of Node or OpenSSL, no text of the client's. */
  readonly onHandshakeFailure?: (reason: HandshakeFailure, code: string) => void;
  /** Milliseconds for a handshake. Default 10,000. */
  readonly handshakeTimeoutMs?: number;
}

/** An HTTPS server that offers TLS 1.2 and 1.3 and, by ALPN, HTTP/1.1 alone. */
export function createTlsServer(settings: ServerOptions, tls: ServerTls): Server {
  const server = createServer({
    ...settings,
    ...contextOf(tls),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: tls.handshakeTimeoutMs ?? 10_000,
  });
  // Node's own listener would pass the failure on as a broken HTTP message, which gets an answer.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: Error & { code?: string }, socket: TLSSocket) => {
    socket.on('error', ignore);
    socket.destroy();
    const code = error.code ?? 'unknown';
    tls.onHandshakeFailure?.(failureOf(code), code);
  });
  endHandshakesWithServer(server);
  return server;
}

/**
 * New connections get this identity, those that are open keep theirs.
 * @throws Error when OpenSSL takes it for no identity; the old one stays.
 */
export function replaceIdentity(server: object, identity: ServerIdentity): void {
  if (!(server instanceof Server)) throw new Error('the listener does not speak TLS');
  server.setSecureContext(contextOf(identity));
}

function contextOf({ cert, key }: ServerIdentity): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    // Each costs the server a handshake and the client next to nothing; TLS 1.3 has none.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

function failureOf(code: string): HandshakeFailure {
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'timeout';
  return code === 'ECONNRESET' || code === 'EPIPE' ? 'closed' : 'protocol';
}

/** Node closes connections that speak HTTP; one in mid-handshake would hold a shutdown up. */
function endHandshakesWithServer(server: Server): void {
  const shaking = new Map<string, Socket>();
  server.prependListener('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    shaking.set(peer, socket);
    socket.once('close', () => {
      if (shaking.get(peer) === socket) shaking.delete(peer);
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => shaking.delete(peerOf(socket)));
  const endShaking = (): void => {
    for (const socket of shaking.values()) socket.destroy();
  };
  for (const name of ['closeAllConnections', 'closeIdleConnections'] as const) {
    const close = server[name].bind(server);
    server[name] = () => {
      endShaking();
      close();
    };
  }
}

/** Address and port: the TLS socket does not name the socket it was made of. */
function peerOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
}

function ignore(): void {
  // It is being closed.
}
