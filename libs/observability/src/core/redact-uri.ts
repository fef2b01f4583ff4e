const SECRET_NAMES = ['key', 'token', 'secret', 'password', 'auth', 'signature', 'credential'];
const MASK = '***';

/** Hides values of query parameters whose name suggests a credential. Linear in the length. */
export function redactUri(uri: string): string {
  const query = uri.indexOf('?');
  if (query < 0) return uri;
  const pairs = uri.slice(query + 1).split('&');
  let changed = false;
  for (let index = 0; index < pairs.length; index++) {
    const pair = pairs[index] ?? '';
    const equals = pair.indexOf('=');
    if (equals < 0 || equals === pair.length - 1) continue;
    if (!isSecretName(pair.slice(0, equals))) continue;
    pairs[index] = pair.slice(0, equals + 1) + MASK;
    changed = true;
  }
  return changed ? `${uri.slice(0, query)}?${pairs.join('&')}` : uri;
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
