import { buildRequestHeaders, type UpstreamRequest } from '@smg/upstream';
import { type SentBody } from './kinds/outgoing-body';
import { type RunParts } from './run.parts';
import { type RoutableWorker } from './run.services';

/** What goes to a worker. */
export interface Sending {
  readonly parts: RunParts;
  /** Which of the engine's paths is tried. */
  readonly pathIndex: number;
  readonly passAuthorization: boolean;
  /** Undefined for a GET. */
  readonly sent: SentBody | undefined;
}

/** The request of one attempt. */
export function requestTo(
  { baseUrl, apiKey: workerKey }: RoutableWorker,
  { parts, pathIndex, passAuthorization, sent }: Sending,
): UpstreamRequest {
  const { route, query, head } = parts;
  const credentials = { passAuthorization, workerKey };
  return {
    baseUrl,
    method: sent === undefined ? 'GET' : 'POST',
    path: (route.enginePaths[pathIndex] ?? route.path) + query,
    headers: buildRequestHeaders(head.headers, credentials, sent !== undefined, sent?.contentType),
    body: sent?.body ?? null,
    source: sent?.source,
    freshConnection: route.isSentOnce === true,
  };
}
