import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type IncomingMessage } from 'node:http';
import { type RequestObserver } from '@smg/plugin-api';
import { ERROR_CODE, REQUEST_ID, ROUTED_WORKER_ID } from '@smg/protocol';
import { onResponseOver } from '@smg/proxy';

const FALLBACK_ROUTE = 'other';

const REFUSAL = Symbol('smg.refusal');

/** Remembers the code of an early refusal for log and metrics; its body carries it, no header does. */
export function rememberRefusal(reply: FastifyReply, code: string): void {
  (reply as FastifyReply & { [REFUSAL]?: string })[REFUSAL] = code;
}

function refusalOf(reply: FastifyReply): string | undefined {
  return (reply as FastifyReply & { [REFUSAL]?: string })[REFUSAL];
}

function text(value: number | string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** What the observer asks of the data plane. */
export interface RelayedRequests {
  requestIdOf(request: IncomingMessage): string;
  /** The relay of this request reports on it itself. */
  reportsOn(request: IncomingMessage): boolean;
}

/**
 * Counts and logs every request that Fastify answers, once each, whether it finishes, fails or the
 * client leaves; and gives it a request id. Requests that are handed to the data plane's relay are
 * left to it; those refused on their way there are not.
 *
 * @param isRelayed routes that end in the relay.
 */
export function observeControlPlane(
  fastify: FastifyInstance,
  observer: RequestObserver,
  relay: RelayedRequests,
  isRelayed: (route: string) => boolean,
): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const route = request.is404 ? FALLBACK_ROUTE : (request.routeOptions.url ?? FALLBACK_ROUTE);
    const startedAt = performance.now();
    const id = relay.requestIdOf(request.raw);
    void reply.header(REQUEST_ID, id);
    const mayBeRelayed = isRelayed(route);
    if (!mayBeRelayed) observer.started();
    onResponseOver(request.raw, reply.raw, () => {
      if (mayBeRelayed) {
        if (relay.reportsOn(request.raw)) return;
        observer.started();
      }
      const complete = reply.raw.writableFinished;
      observer.finished({
        method: request.method,
        route,
        url: request.raw.url ?? '',
        status: reply.raw.headersSent ? reply.raw.statusCode : 499,
        durationMs: performance.now() - startedAt,
        requestId: id,
        errorCode: text(reply.raw.getHeader(ERROR_CODE)) ?? refusalOf(reply),
        worker: text(reply.raw.getHeader(ROUTED_WORKER_ID)),
        clientGone: complete ? undefined : true,
      });
    });
    done();
  });
}
