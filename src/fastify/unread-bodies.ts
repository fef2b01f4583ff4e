import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type IncomingMessage, type ServerResponse } from 'node:http';

/** Milliseconds for which an upload nobody wants is still read, so that the answer arrives. */
const LINGER_MS = 1000;

/**
 * Asks for a body and bounds one that is not wanted: `100 Continue` goes out only when a parser
 * begins to read, and a connection whose request was answered early does not stay in mid-message.
 */
export class UnreadBodies {
  private readonly waiting = new WeakMap<IncomingMessage, ServerResponse>();

  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
      if (request.headers.expect !== undefined) this.waiting.set(request.raw, reply.raw);
      done();
    });
    fastify.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, _payload, done) => {
      // Whether the client now sends its body is its own choice: the next bytes mean nothing certain.
      if (this.waiting.has(request.raw)) void reply.header('connection', 'close');
      done();
    });
    fastify.addHook('onResponse', (request: FastifyRequest, _reply, done) => {
      if (!request.raw.complete) linger(request.raw);
      done();
    });
  }

  /** The body is wanted now. */
  wanted(request: IncomingMessage): void {
    // An HTTP/1.0 client knows no interim answers.
    if (request.httpVersionMinor > 0) this.waiting.get(request)?.writeContinue();
    this.waiting.delete(request);
  }
}

function linger(request: IncomingMessage): void {
  if (request.socket.destroyed) return;
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
  const stop = (): void => {
    clearTimeout(timer);
  };
  request.once('end', stop);
  request.once('close', stop);
  request.resume();
}
