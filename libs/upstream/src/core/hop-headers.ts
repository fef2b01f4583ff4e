import { ROUTING_KEY, SMG_PREFIX } from '@smg/protocol';

/** Characters a field value may hold; anything else could end the line or the field. */
const LEGAL_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Client headers an engine gets to see, beside the `x-request-id-` family and Authorization. */
const FORWARDED: ReadonlySet<string> = new Set([
  'x-request-id',
  'x-correlation-id',
  'traceparent',
  'tracestate',
  // Gateways before this one: how each of them knows a request that came round to it.
  'via',
  ROUTING_KEY,
  // Of trainers: the conversation, and the rank of the engine that is to serve it.
  'x-session-id',
  'x-data-parallel-rank',
]);

const FORWARDED_PREFIX = 'x-request-id-';

/** Headers that describe one connection, or that only the gateway may say. */
const NEVER_RELAYED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'host',
  // The gateway answers with the id of the request, whatever the engine calls it.
  'x-request-id',
]);

/** What decides the Authorization an engine sees. */
export interface RequestCredentials {
  /** The client's header may go on; false when serving keys consumed it. */
  readonly passAuthorization: boolean;
  /** The worker's own key. */
  readonly workerKey: string | undefined;
}

/** What the routes with a JSON body send. */
const JSON_TYPE = 'application/json';

/**
 * Header list of a request to an engine. Framing is left to the HTTP client, which writes exactly one
 * Content-Length; so the list holds no framing header, whatever the client sent.
 * @param headers flat list from the client, names in lower case.
 * @param hasBody adds a content type.
 * @param contentType JSON, but for routes that carry something else.
 */
export function buildRequestHeaders(
  headers: readonly string[],
  credentials: RequestCredentials,
  hasBody: boolean,
  contentType = JSON_TYPE,
): string[] {
  const out = ['accept-encoding', 'identity'];
  if (hasBody) out.push('content-type', contentType);
  let authorization: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const value = headers[i + 1] ?? '';
    if (name === 'authorization') {
      if (credentials.passAuthorization && LEGAL_VALUE.test(value)) authorization ??= value;
    } else if (isForwarded(name) && LEGAL_VALUE.test(value)) {
      out.push(name, value);
    }
  }
  authorization ??= ownAuthorization(credentials);
  if (authorization !== undefined) out.push('authorization', authorization);
  return out;
}

function ownAuthorization({ workerKey }: RequestCredentials): string | undefined {
  if (workerKey === undefined) return undefined;
  const own = `Bearer ${workerKey}`;
  return LEGAL_VALUE.test(own) ? own : undefined;
}

function isForwarded(name: string): boolean {
  // Every forwarded name starts with x, t or v: most headers are settled by one character.
  const first = name.charCodeAt(0);
  if (first !== 0x78 && first !== 0x74 && first !== 0x76) return false;
  return FORWARDED.has(name) || (name.startsWith(FORWARDED_PREFIX) && isToken(name));
}

function isToken(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name);
}

/** Response headers to relay, and what they say about the body. */
export interface RelayHeaders {
  /** Flat list; repeats kept, original spelling. No framing header. */
  readonly headers: string[];
  /** From a single valid Content-Length; -1 when absent. */
  readonly contentLength: number;
  readonly chunked: boolean;
  /** A transfer coding besides chunked: the bytes are not those of the answer until decoded. */
  readonly foreignCoding: boolean;
  /** Content-Type as sent; empty when there is none. */
  readonly contentType: string;
  readonly eventStream: boolean;
  /** Has a Content-Encoding: what the bytes say is not known here. */
  readonly encoded: boolean;
}

/** The same, while it is being read. */
type Found = { -readonly [K in keyof RelayHeaders]: RelayHeaders[K] };

/**
 * Headers of an engine's answer for the client: without hop-by-hop headers, those `Connection` names,
 * and every `x-smg-*`. Content-Length is left out too; the relay states it again when it still holds.
 */
export function readResponseHeaders(raw: readonly string[]): RelayHeaders {
  const found: Found = {
    headers: [],
    contentLength: -1,
    chunked: false,
    foreignCoding: false,
    contentType: '',
    eventStream: false,
    encoded: false,
  };
  const named = namedByConnection(raw);
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const original = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const name = original.toLowerCase();
    if (name === 'content-length') {
      found.contentLength = /^\d{1,15}$/.test(value) ? Number(value) : -1;
    } else if (name === 'transfer-encoding') {
      readCoding(found, value);
    } else if (mayRelay(name, value) && named?.has(name) !== true) {
      if (name === 'content-type') {
        found.contentType = value;
        found.eventStream = /^\s*text\/event-stream\b/i.test(value);
      } else if (name === 'content-encoding') found.encoded = true;
      found.headers.push(original, value);
    }
  }
  return found;
}

function readCoding(found: Found, value: string): void {
  const coding = value.trim().toLowerCase();
  if (coding === 'chunked') found.chunked = true;
  // Some servers still say that there is no coding; then the connection's end ends the body.
  else if (coding !== 'identity' && coding !== '') found.foreignCoding = true;
}

function mayRelay(name: string, value: string): boolean {
  return !NEVER_RELAYED.has(name) && !name.startsWith(SMG_PREFIX) && LEGAL_VALUE.test(value);
}

function namedByConnection(raw: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (name.length === 10 && name.toLowerCase() === 'connection') {
      named = addNamed(named, raw[i + 1] ?? '');
    }
  }
  return named;
}

function addNamed(named: Set<string> | undefined, value: string): Set<string> | undefined {
  let set = named;
  for (const part of value.split(',')) {
    const name = part.trim().toLowerCase();
    if (name === '' || name === 'close' || name === 'keep-alive') continue;
    set ??= new Set();
    set.add(name);
  }
  return set;
}
