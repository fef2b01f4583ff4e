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
  { baseUrl, apiKey: workerKey, dpRank }: RoutableWorker,
  { parts, pathIndex, passAuthorization, sent }: Sending,
): UpstreamRequest {
  const { route, query, head } = parts;
  const credentials = { passAuthorization, workerKey };
  const type = sent?.contentType;
  const headers = buildRequestHeaders(head.headers, credentials, sent !== undefined, type);
  // The rank that was routed to is in the body; another one beside it would make the stamp a lie.
  if (dpRank !== undefined) dropHeader(headers, 'x-data-parallel-rank');
  return {
    baseUrl,
    method: sent === undefined ? 'GET' : 'POST',
    path: (route.enginePaths[pathIndex] ?? route.path) + query,
    headers,
    body: sent?.body ?? null,
    source: sent?.source,
    freshConnection: route.isSentOnce === true,
  };
}

/** @param headers flat list of names and values. */
function dropHeader(headers: string[], name: string): void {
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    if (headers[i] === name) headers.splice(i, 2);
  }
}
