import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type RequestListener } from 'node:http';
import { type PlaneGate } from '@smg/auth';
import {
  type AuditLog,
  type EntryControl,
  type RequestObserver,
  type ServingAuth,
} from '@smg/plugin-api';
import { type WorkerSelector } from '@smg/policy';
import { type DataPlaneServer } from '@smg/proxy';
import { type FrontDoor } from '../front-door';
import { registerBodyParsers } from './body-parsers';
import { auditControlActions } from './control-audit';
import { observeControlPlane } from './control-plane-observer';
import { admitBeforeBody } from './early-admission';
import { refuseBeforeBody, refuseUnreadableHeaders } from './early-auth';
import { UnmatchedRoutes } from './not-found';
import { type RoutePlanes } from './route-planes';
import { UnreadBodies } from './unread-bodies';

/** Bytes; worker definitions and control calls are small. */
const CONTROL_BODY_LIMIT = 16 * 1024 * 1024;
/** Characters of one path parameter: a worker's URL may stand where its id does. */
const MAX_PARAM_LENGTH = 4096;

/** Nest's adapter, but unmatched routes are answered by us: 405 with `Allow`, or 404 without a body. */
class GatewayFastifyAdapter extends FastifyAdapter {
  /** Nest's own answer would be a JSON error; `prepareFastify` has set ours. */
  override setNotFoundHandler(): FastifyInstance {
    return this.getInstance();
  }
}

export function createFastifyAdapter(door: FrontDoor): FastifyAdapter {
  return new GatewayFastifyAdapter({
    serverFactory: (handler: RequestListener) => door.createServer(handler),
    // The hardened server answers malformed messages itself.
    clientErrorHandler: () => undefined,
    // A shutdown drains; requests on open connections are served until then.
    return503OnClosing: false,
    // A path that cannot be decoded names no route: it is answered like every unknown one.
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      door.refuseUnreadable(request.raw, reply.raw);
    },
    requestTimeout: 0,
    keepAliveTimeout: 90_000,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  });
}

export interface FastifyParts {
  readonly observer: RequestObserver;
  readonly audit: AuditLog;
  readonly dataPlane: DataPlaneServer;
  readonly gate: PlaneGate;
  readonly selector: WorkerSelector;
  readonly planes: RoutePlanes;
  readonly auth: ServingAuth;
  /** Undefined while nothing limits the requests in flight. */
  readonly entry: EntryControl | undefined;
  /** Milliseconds a client may pause inside a body; 0 waits for ever. */
  readonly bodyIdleMs: number;
  /** Bytes of a body that goes on to an engine. */
  readonly maxPayloadSize: number;
}

/** Parsers, not-found answers, observation and early refusals; before Nest adds its routes. */
export function prepareFastify(fastify: FastifyInstance, parts: FastifyParts): void {
  const relayed = new Set(parts.dataPlane.paths);
  const isRelayed = (route: string): boolean => relayed.has(route);
  const bodies = new UnreadBodies(fastify);
  registerBodyParsers(fastify, {
    isRelayed,
    limit: CONTROL_BODY_LIMIT,
    bytesLimit: parts.maxPayloadSize,
    idleMs: parts.bodyIdleMs,
    onWanted: (request) => {
      bodies.wanted(request);
    },
  });
  const unmatched = new UnmatchedRoutes(fastify, parts.planes);
  fastify.setNotFoundHandler(unmatched.answer);
  observeControlPlane(fastify, parts.observer, parts.dataPlane, isRelayed);
  auditControlActions(fastify, parts.audit);
  refuseUnreadableHeaders(fastify, parts.selector);
  refuseBeforeBody(fastify, parts.gate, parts.planes, unmatched);
  const { entry, auth, planes } = parts;
  if (entry !== undefined) admitBeforeBody(fastify, { entry, auth, planes, isRelayed });
  // Before Fastify looks at the body: it would answer 415 to a content type it cannot read.
  fastify.addHook('onRequest', (request, reply, done) => {
    if (request.is404) unmatched.answer(request, reply);
    else done();
  });
}
