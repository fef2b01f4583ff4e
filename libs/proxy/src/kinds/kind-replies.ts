import { type GatewayError } from '@smg/protocol';
import { withChosenStatus } from '../chosen-status';
import { type RouteFacts } from '../core/inference-routes';
import { type GatewayReply, replyOf } from '../gateway-reply';
import { type AttemptOwner } from '../upstream.attempt';

/** Answers of realtime routes that have no body. */
const BODILESS: ReadonlySet<string> = new Set([
  'missing_credentials',
  'call_upstream_request_error',
]);

/** An error the way its route tells it: forms and sockets in plain text, realtime sometimes by status alone. */
export function replyOfRoute(
  route: RouteFacts,
  error: GatewayError,
  requestId: string,
): GatewayReply {
  const reply = replyOf(error, requestId);
  if (route.isRealtime === true && BODILESS.has(error.code)) {
    return { ...reply, headers: withType(reply.headers, undefined), body: '' };
  }
  const isText = route.carries !== undefined && route.carries !== 'json';
  if (!isText || error.code !== 'invalid_request') return reply;
  const headers = withType(reply.headers, 'text/plain; charset=utf-8');
  return { ...reply, headers, body: error.message };
}

/** The same for a request, with the status that is configured for its kind. */
export function replyFor(
  { exchange, services }: Pick<AttemptOwner, 'exchange' | 'services'>,
  route: RouteFacts,
  error: GatewayError,
): GatewayReply {
  return replyOfRoute(route, withChosenStatus(error, services.options), exchange.requestId);
}

function withType(headers: readonly string[], type: string | undefined): string[] {
  const out: string[] = type === undefined ? [] : ['content-type', type];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (name !== 'content-type') out.push(name, headers[i + 1] ?? '');
  }
  return out;
}
