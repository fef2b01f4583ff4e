const SECRET_NAMES = ['key', 'token', 'secret', 'password', 'auth', 'signature', 'credential'];
const MASK = '***';

const SCHEME_END = /(?:%3a|:)(?:%2f|\/){2}/i;
/** What follows the `@` of a data-parallel rank, `http://host:port@3`, which hides nothing. */
const RANK = /^\d{1,5}(?:$|[/?#&]|%2f)/i;

/**
 * Hides values of query parameters whose name suggests a credential, and the user and password of a
 * URL that stands in the path or the query. Linear in the length.
 */
export function redactUri(uri: string): string {
  return withoutUserInfo(withoutSecretParameters(uri));
}

function withoutUserInfo(uri: string): string {
  if (!uri.includes('@') && !uri.includes('%40')) return uri;
  const scheme = SCHEME_END.exec(uri);
  if (scheme === null) return uri;
  const from = scheme.index + scheme[0].length;
  const inner = uri.slice(from);
  let end = 0;
  for (const mark of inner.matchAll(/@|%40/g)) {
    if (!RANK.test(inner.slice(mark.index + mark[0].length, mark.index + mark[0].length + 8))) {
      end = mark.index;
    }
  }
  return end === 0 ? uri : uri.slice(0, from) + MASK + inner.slice(end);
}

function withoutSecretParameters(uri: string): string {
  // A fragment is not meant to be sent; whoever sends one must not find it in a log.
  const query = uri.search(/[?#]/);
  if (query < 0) return uri;
  const pairs = uri.slice(query + 1).split('&');
  let changed = false;
  for (let index = 0; index < pairs.length; index++) {
    const pair = pairs[index] ?? '';
    const from = secretStart(pair);
    if (from === pair.length) continue;
    pairs[index] = pair.slice(0, from) + MASK;
    changed = true;
  }
  return changed ? uri.slice(0, query + 1) + pairs.join('&') : uri;
}

/**
 * Where the value of the first secret parameter begins; the length of `pair` when there is none. A `?`
 * or `#` inside may begin a further name, and never ends a value.
 */
function secretStart(pair: string): number {
  let start = 0;
  for (const part of pair.split(/[?#]/)) {
    const equals = part.indexOf('=');
    if (equals >= 0 && isSecretName(part.slice(0, equals))) return start + equals + 1;
    start += part.length + 1;
  }
  return pair.length;
}

function isSecretName(raw: string): boolean {
  const name = decode(raw).toLowerCase();
  for (const word of SECRET_NAMES) {
    if (name.includes(word)) return true;
  }
  return false;
}

function decode(name: string): string {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
