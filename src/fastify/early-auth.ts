import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type PlaneDecision, type PlaneGate, sendRejection } from '@smg/auth';
import { type WorkerSelector } from '@smg/policy';
import { REQUEST_ID } from '@smg/protocol';
import { rememberRefusal } from './control-plane-observer';
import { type UnmatchedRoutes } from './not-found';
import { type RoutePlanes } from './route-planes';

/**
 * Refuses before a body is read or asked for. Nest's guards run after the parser, so without this a
 * stranger could make the gateway hold megabytes. A known path with another method is judged too:
 * whoever may not call a route does not learn its methods. An unknown path is nobody's.
 */
export function refuseBeforeBody(
  fastify: FastifyInstance,
  gate: PlaneGate,
  planes: RoutePlanes,
  unmatched: UnmatchedRoutes,
): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    const plane = request.is404
      ? unmatched.planeOf(request)
      : planes.of(request.method, route ?? '');
    if (plane === undefined) {
      done();
      return;
    }
    const settle = (decision: PlaneDecision): void => {
      if (decision.allowed) done();
      else sendRejection(reply, decision);
    };
    const id = reply.getHeader(REQUEST_ID);
    const requestId = typeof id === 'string' ? id : undefined;
    const decision = gate.authorise(plane, request.raw, { requestId, route });
    if (decision instanceof Promise) decision.then(settle, done);
    else settle(decision);
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
