import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type ReadinessVerdict } from './health-board';
import { renderReadiness } from './readiness-body';

/** Answers the three probe routes and nothing else; for the listener on a thread of its own. */
export function probeHandler(
  readVerdict: () => ReadinessVerdict,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0];
    const isProbe = path === '/liveness' || path === '/health' || path === '/readiness';
    if (!isProbe) {
      send(response, 404, undefined, '');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, undefined, '');
    } else if (path === '/readiness') {
      const { status, body } = renderReadiness(readVerdict());
      send(response, status, 'application/json', body);
    } else {
      send(response, 200, 'text/plain; charset=utf-8', 'OK');
    }
  };
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string | undefined,
  body: string,
): void {
  response.statusCode = status;
  if (contentType !== undefined) response.setHeader('content-type', contentType);
  response.setHeader('content-length', Buffer.byteLength(body));
  // Node leaves the body out of an answer to HEAD.
  response.end(body);
}
