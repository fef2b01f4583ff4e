import { buildRequestHeaders, readResponseHeaders, type UpstreamRequest } from '@smg/upstream';
import { type ClientHead } from '../../core/client-head';
import { type RoutableWorker } from '../../run.services';
import { type OpeningHandshake } from '../core/websocket-handshake';

/** Chooses between generations of the protocol that is spoken over the socket. */
const BETA = 'openai-beta';
/** What of an engine's 101 concerns the client; the rest describes the engine's connection. */
const SPOKEN: ReadonlySet<string> = new Set([
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]);

/** A handshake on its way to a worker. */
export interface SocketSending {
  /** Path and query. */
  readonly path: string;
  readonly head: ClientHead;
  readonly handshake: OpeningHandshake;
  readonly passAuthorization: boolean;
}

/** The handshake as the worker gets it: the client's, so that both ends agree about everything. */
export function handshakeTo(
  { baseUrl, apiKey: workerKey }: RoutableWorker,
  { path, head, handshake, passAuthorization }: SocketSending,
): UpstreamRequest {
  const { key, extensions, protocolKey } = handshake;
  const given = withPageKey(head, protocolKey);
  const headers = buildRequestHeaders(given, { passAuthorization, workerKey }, false);
  headers.push('sec-websocket-key', key, 'sec-websocket-version', '13');
  if (handshake.protocols.length > 0) {
    headers.push('sec-websocket-protocol', handshake.protocols.join(', '));
  }
  if (extensions !== undefined) headers.push('sec-websocket-extensions', extensions);
  const beta = head.header(BETA);
  if (beta !== undefined) headers.push(BETA, beta);
  return { baseUrl, method: 'GET', path, headers, body: null };
}

/** A page's key is an Authorization in other clothes; engines get it as what it is, if at all. */
function withPageKey(head: ClientHead, protocolKey: string | undefined): readonly string[] {
  if (protocolKey === undefined || head.authorization !== undefined) return head.headers;
  return [...head.headers, 'authorization', `Bearer ${protocolKey}`];
}

/** Proof that the engine has read the handshake. */
export function acceptIn(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'sec-websocket-accept') continue;
    if (found !== undefined) return undefined;
    found = rawHeaders[i + 1];
  }
  return found;
}

/** Headers of the client's 101. */
export function tunnelHeaders(rawHeaders: readonly string[]): string[] {
  const out = ['upgrade', 'websocket', 'connection', 'Upgrade'];
  const { headers } = readResponseHeaders(rawHeaders);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]?.toLowerCase() ?? '';
    if (SPOKEN.has(name)) out.push(name, headers[i + 1] ?? '');
  }
  return out;
}
