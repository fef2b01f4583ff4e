import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type AuditEntry, type AuditLog, principalOf } from '@smg/plugin-api';
import { REQUEST_ID, redactUri } from '@smg/protocol';
import { onResponseOver } from '@smg/proxy';

/** Status of a request whose client left before it was answered. */
const CLIENT_LEFT = 499;
/** End of the routes that pass a call on to engines: there even a GET may change something. */
const ENGINE_ROUTE = '/engine/*';

/**
 * Records every call of the control plane that may change something, when it is over: whatever was
 * answered, and also when nobody waited for the answer. Calls whose credentials were refused are not
 * actions; the decision is recorded where it is taken. Comes after the observer.
 */
export function auditControlActions(fastify: FastifyInstance, log: AuditLog): void {
  if (!log.isOn) return;
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    if (!request.is404 && mayChangeSomething(request)) {
      // The observer has chosen it, for the answer, the log and the call to an engine.
      const id = reply.getHeader(REQUEST_ID);
      const requestId = typeof id === 'string' ? id : undefined;
      onResponseOver(request.raw, reply.raw, () => {
        const principal = principalOf(request.raw);
        if (principal === undefined) return;
        const status = reply.raw.headersSent ? reply.raw.statusCode : CLIENT_LEFT;
        const action: AuditEntry = {
          kind: 'action',
          principal,
          httpMethod: request.method,
          path: pathOf(request),
          route: request.routeOptions.url,
          resource: resourceOf(request, reply),
          outcome: status < 400 ? 'success' : 'failed',
          status,
          requestId,
          details: detailsOf(status, reply),
        };
        void log.record(action);
      });
    }
    done();
  });
}

function mayChangeSomething({ method, routeOptions }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return true;
  // Declared with `@RouteConfig({ changesEngines: true })`.
  if (Reflect.get(routeOptions.config, 'changesEngines') === true) return true;
  return routeOptions.url?.endsWith(ENGINE_ROUTE) === true;
}

function pathOf(request: FastifyRequest): string {
  return request.raw.url?.split(/[?#]/, 1)[0] ?? '';
}

/** The worker an action is about, or the selector that names several. */
function resourceOf(request: FastifyRequest, reply: FastifyReply): string | undefined {
  const id =
    textOf(request.params, 'id') ??
    textOf(request.query, 'selector') ??
    redacted(textOf(request.query, 'url'));
  // An addition names its worker in the answer alone.
  return id ?? /^\/workers\/(.+)$/.exec(String(reply.getHeader('location') ?? ''))?.[1];
}

/** A worker's URL as it was asked for: what is refused may hold a password. */
function redacted(url: string | undefined): string | undefined {
  return url === undefined ? undefined : redactUri(url);
}

function textOf(members: unknown, name: string): string | undefined {
  if (typeof members !== 'object' || members === null) return undefined;
  const value: unknown = Reflect.get(members, name);
  if (Array.isArray(value)) return value.map(String).join(' ');
  return typeof value === 'string' ? value : undefined;
}

function detailsOf(status: number, reply: FastifyReply): string | undefined {
  if (status === CLIENT_LEFT) return 'the client left before it was answered';
  if (!reply.raw.writableFinished) return 'the answer did not reach the client whole';
  return status === 206 || status === 207 ? 'not every engine did as asked' : undefined;
}
