import { type ConnectionMode, parseUrl } from '@smg/protocol';

/**
 * The one parser of worker URLs, for the command line and the API.
 * Law: SMG contract 1.3 rule 3 (schemes) and 3.5 (one trailing slash, `@rank`). A URL is kept as the
 * client wrote it, host in lower case, so that what `GET /workers` shows compares equal to what was
 * registered; identity is decided by `key`, which also forgets a default port and a trailing dot.
 */
export interface WorkerAddress {
  /** Canonical URL with `@<rank>` when there is one. */
  readonly url: string;
  /** `url` without the rank: where requests go. */
  readonly baseUrl: string;
  /** Equal for two spellings of one worker. */
  readonly key: string;
  /** `key` without the rank: equal for all ranks of one engine. */
  readonly baseKey: string;
  /** 0-based data-parallel rank. */
  readonly rank: number | undefined;
  readonly connectionMode: ConnectionMode;
  /** Host without brackets, for a peer's `bootstrap_host`. */
  readonly host: string;
}

export type WorkerUrlResult =
  | { readonly ok: true; readonly address: WorkerAddress }
  /** `message` never repeats the URL: it may hold a password. */
  | { readonly ok: false; readonly message: string };

const MODES: Readonly<Record<string, ConnectionMode>> = {
  http: 'http',
  https: 'http',
  grpc: 'grpc',
  grpcs: 'grpc',
  ipc: 'zmq',
};
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
/** Letters a path may hold unescaped (RFC 3986 pchar). */
const PATH = /^(\/([\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*$/;
const DOT_SEGMENT = /^(\.|%2e){1,2}$/i;
const MAX_LENGTH = 2048;

const fail = (message: string): WorkerUrlResult => ({ ok: false, message });

/**
 * Reads a worker URL.
 * @param rank of the specification, for a URL that carries none.
 */
export function parseWorkerUrl(text: string, rank?: number): WorkerUrlResult {
  if (text.length > MAX_LENGTH) return fail('worker URL is too long');
  const scheme = /^([a-z]+):\/\//.exec(text)?.[1];
  const mode = scheme === undefined ? undefined : MODES[scheme];
  if (scheme === undefined || mode === undefined) {
    return fail('worker URL must start with http://, https://, grpc://, grpcs:// or ipc://');
  }
  const suffix = /@(\d{1,5})\/?$/.exec(text);
  const rest = text.slice(scheme.length + 3, suffix?.index ?? text.length);
  if (suffix !== null && rank !== undefined && Number(suffix[1]) !== rank) {
    return fail('dp_rank differs from the @rank of the worker URL');
  }
  const place = { scheme, mode, rank: suffix === null ? rank : Number(suffix[1]) };
  if (mode === 'zmq')
    return rest === '' ? fail('worker URL has no path') : built(place, rest, rest);
  return parseNetworkPlace(place, rest);
}

interface Place {
  readonly scheme: string;
  readonly mode: ConnectionMode;
  readonly rank: number | undefined;
}

function parseNetworkPlace(place: Place, rest: string): WorkerUrlResult {
  const slash = rest.search(/[/?#]/);
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  const path = slash === -1 ? '' : rest.slice(slash).replace(/\/$/, '');
  if (authority.includes('@')) return fail('worker URL must not carry a user name or password');
  if (/[?#]/.test(path)) return fail('worker URL must not carry a query or a fragment');
  if (!PATH.test(path) || path.split('/').some((segment) => DOT_SEGMENT.test(segment))) {
    return fail('worker URL has a malformed path');
  }
  const split = /^(\[[^[\]]*\]|[^:[\]]*)(?::(\d*))?$/.exec(authority);
  const host = split === null ? undefined : canonicalHost(split[1] ?? '');
  if (host === undefined) return fail('worker URL has no valid host');
  const port = canonicalPort(split?.[2]);
  if (port === null) return fail('worker URL has no valid port');
  const isDefault = port === undefined || port === DEFAULT_PORTS[place.scheme];
  const shown = `${host}${port === undefined ? '' : `:${port}`}${path}`;
  const identity = `${host.replace(/\.$/, '')}${isDefault ? '' : `:${port}`}${path}`;
  return built(place, shown, identity, host);
}

function built(place: Place, shown: string, identity: string, host = ''): WorkerUrlResult {
  const suffix = place.rank === undefined ? '' : `@${place.rank}`;
  const baseUrl = `${place.scheme}://${shown}`;
  const baseKey = `${place.scheme}://${identity}`;
  return {
    ok: true,
    address: {
      url: baseUrl + suffix,
      baseUrl,
      key: baseKey + suffix,
      baseKey,
      rank: place.rank,
      connectionMode: place.mode,
      host: host.replace(/^\[|\]$/g, '').replace('%25', '%'),
    },
  };
}

/** Lower case; IPv4 and IPv6 in their shortest form; a zone is kept as `%25<zone>`. */
function canonicalHost(raw: string): string | undefined {
  const zoned = /^\[([0-9A-Fa-f:.]+)%(?:25)?([\w.~-]+)\]$/.exec(raw);
  const plain = zoned === null ? raw : `[${zoned[1] ?? ''}]`;
  if (plain === '' || plain === '.' || /[\s%\\<>^|]/.test(plain)) return undefined;
  // The scheme is fixed: only the host rules of the URL standard are wanted here.
  const hostname = parseUrl(`http://${plain}/`)?.hostname;
  if (hostname === undefined) return undefined;
  return zoned === null ? hostname : `${hostname.slice(0, -1)}%25${zoned[2] ?? ''}]`;
}

/** Decimal without leading zeros; undefined when absent, null when out of range. */
function canonicalPort(raw: string | undefined): string | undefined | null {
  if (raw === undefined) return undefined;
  if (!/^\d{1,5}$/.test(raw)) return null;
  const port = Number(raw);
  return port >= 1 && port <= 65_535 ? String(port) : null;
}
