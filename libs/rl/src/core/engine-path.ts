/** A path of an engine that may be called, or why not. */
export type ParsedEnginePath =
  | { readonly ok: true; /** Without a leading slash. */ readonly path: string }
  | { readonly ok: false; readonly why: string };

const MAX_SEGMENTS = 4;
const SEGMENT = /^[A-Za-z0-9._-]+$/;

const refuse = (why: string): ParsedEnginePath => ({ ok: false, why });

/**
 * Checks a path that goes to an engine: 1 to 4 plain segments, nothing a URL parser could take for
 * something else. Source: SMG RL contract 3.1.
 * @param decoded percent-decoded exactly once.
 */
export function parseEnginePath(decoded: string): ParsedEnginePath {
  const path = decoded.startsWith('/') ? decoded.slice(1) : decoded;
  if (path === '') return refuse('path is empty');
  if (/[?#]/.test(path)) return refuse('path contains a query or a fragment');
  const segments = path.split('/');
  if (segments.length > MAX_SEGMENTS) return refuse(`path has more than ${MAX_SEGMENTS} segments`);
  for (const segment of segments) {
    if (segment === '') return refuse('path has an empty segment');
    if (segment === '.' || segment === '..') return refuse('path has a dot segment');
    if (!SEGMENT.test(segment)) {
      return refuse("a segment may hold only letters, digits, '.', '_' and '-'");
    }
  }
  return { ok: true, path };
}

/**
 * The same for the raw rest of a request target, still percent-encoded and without its query.
 * Frameworks differ in what they decode and how often; the raw bytes do not.
 */
export function parseRawEnginePath(raw: string): ParsedEnginePath {
  let decoded: string;
  try {
    decoded = decodeURIComponent(raw);
  } catch {
    return refuse('path is not valid percent-encoded UTF-8');
  }
  return parseEnginePath(decoded);
}

/** Where a control call goes: base URL without trailing slashes, path, and the query that is left. */
export function engineTarget(path: string, query: string): string {
  return query === '' ? `/${path}` : `/${path}?${query}`;
}
