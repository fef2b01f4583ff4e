import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type PlaneGate, sendRejection } from '@smg/auth';
import { type Plane } from '@smg/plugin-api';

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
