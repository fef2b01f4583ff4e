import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type RequestObserver } from '@smg/plugin-api';
import { ERROR_CODE, REQUEST_ID, ROUTED_WORKER_ID } from '@smg/protocol';

const FALLBACK_ROUTE = 'other';

function text(value: number | string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Counts and logs every request that Fastify serves, once each, whether it finishes, fails or the
 * client leaves; and gives it a request id.
 *
 * @param requestId reads or makes the id of a raw request.
 * @param isRelayed routes whose relay reports for itself.
 */
export function observeControlPlane(
  fastify: FastifyInstance,
  observer: RequestObserver,
  requestId: (request: FastifyRequest) => string,
  isRelayed: (route: string) => boolean,
): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const route = request.is404 ? FALLBACK_ROUTE : (request.routeOptions.url ?? FALLBACK_ROUTE);
    if (isRelayed(route)) {
      done();
      return;
    }
    const startedAt = performance.now();
    const id = requestId(request);
    void reply.header(REQUEST_ID, id);
    observer.started();
    reply.raw.once('close', () => {
      const complete = reply.raw.writableFinished;
      observer.finished({
        method: request.method,
        route,
        url: request.raw.url ?? '',
        status: reply.raw.headersSent ? reply.raw.statusCode : 499,
        durationMs: performance.now() - startedAt,
        requestId: id,
        errorCode: text(reply.raw.getHeader(ERROR_CODE)),
        worker: text(reply.raw.getHeader(ROUTED_WORKER_ID)),
        clientGone: complete ? undefined : true,
      });
    });
    done();
  });
}
