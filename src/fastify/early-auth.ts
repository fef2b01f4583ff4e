import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type PlaneGate, sendRejection } from '@smg/auth';
import { type Plane } from '@smg/plugin-api';
import { type WorkerSelector } from '@smg/policy';
import { rememberRefusal } from './control-plane-observer';

/**
 * Refuses before a body is read or asked for. Nest's guards run after the parser, so without this a
 * stranger could make the gateway hold megabytes. The guard stays the authority: a route that is not
 * in `planes` is judged by it alone.
 */
export function refuseBeforeBody(
  fastify: FastifyInstance,
  gate: PlaneGate,
  planes: ReadonlyMap<string, Plane>,
): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const plane = planes.get(`${request.method} ${request.routeOptions.url ?? ''}`);
    const decision =
      plane === undefined
        ? undefined
        : gate.authoriseRawRequest(plane, request.headers.authorization);
    if (decision === undefined || decision.allowed) done();
    else sendRejection(reply, decision);
  });
}

/**
 * A filter may refuse a request whose headers it cannot understand, on every existing route and before
 * authentication, so that a malformed policy header is reported as such wherever it is sent.
 */
export function refuseUnreadableHeaders(fastify: FastifyInstance, selector: WorkerSelector): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    if (request.is404 || !selector.refusesRequests) {
      done();
      return;
    }
    const refusal = selector.refusalOf((name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : value?.join(', ');
    });
    if (refusal === undefined) done();
    else {
      rememberRefusal(reply, refusal.code);
      void reply.code(refusal.status).header('content-type', 'application/json').send(refusal.body);
    }
  });
}
