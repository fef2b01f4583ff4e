import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type AdmissionRequest,
  type EntryControl,
  type EntryRefusal,
  type ServingAuth,
} from '@smg/plugin-api';
import { ERROR_CODE, GatewayError, renderErrorEnvelope } from '@smg/protocol';
import { onResponseOver } from '@smg/proxy';
import { type RoutePlanes } from './route-planes';

/** What the hook asks. */
export interface EarlyAdmission {
  readonly entry: EntryControl;
  readonly auth: ServingAuth;
  readonly planes: RoutePlanes;
  /** Routes that end in the relay, which asks by itself. */
  readonly isRelayed: (route: string) => boolean;
}

/** The routes of the serving plane that Nest answers count as requests in flight like the relayed ones. */
export function admitBeforeBody(fastify: FastifyInstance, parts: EarlyAdmission): void {
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const route = request.routeOptions.url ?? '';
    const isLimited =
      !request.is404 &&
      !parts.isRelayed(route) &&
      parts.planes.of(request.method, route) === 'data';
    if (!isLimited) {
      done();
      return;
    }
    const refuse = (refusal: EntryRefusal): void => {
      sendRefusal(reply, refusal);
    };
    let isIn = false;
    const pass = parts.entry.enter(asAdmissionRequest(request, parts.auth), {
      // Nobody could call back what a controller has begun: it keeps its place.
      get hasAnswered() {
        return isIn;
      },
      onAdmitted: () => {
        isIn = true;
        done();
      },
      onRefused: refuse,
    });
    if (pass.refusal !== undefined) {
      refuse(pass.refusal);
      return;
    }
    onResponseOver(request.raw, reply.raw, () => {
      pass.leave();
    });
    if (pass.isWaiting) return;
    isIn = true;
    done();
  });
}

function asAdmissionRequest(
  { headers, socket }: FastifyRequest,
  auth: ServingAuth,
): AdmissionRequest {
  const decision = auth.decide(headers.authorization);
  return {
    authenticatedTenant: decision.allowed ? decision.tenant : undefined,
    peer: socket.remoteAddress,
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : value?.join(', ');
    },
  };
}

function sendRefusal(reply: FastifyReply, { code, message, retryAfterSecs }: EntryRefusal): void {
  const { status } = new GatewayError(code, message);
  void reply
    .code(status)
    .header('content-type', 'application/json')
    .header('retry-after', String(retryAfterSecs))
    .header(ERROR_CODE, code)
    .send(renderErrorEnvelope(status, code, message));
}
