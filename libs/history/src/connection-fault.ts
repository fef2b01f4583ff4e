import { parseUrl } from '@smg/protocol';

/**
 * What went wrong with a connection, for a person to read: never the password of its URL, and something
 * even where Node says nothing (an attempt at several addresses has an empty message).
 */
export function describeFault(error: unknown, url: string): string {
  return withoutPassword(textOf(error), url);
}

function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(textOf))].join('; ');
  }
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : error.name;
}

function withoutPassword(text: string, url: string): string {
  let result = text.replaceAll(url, '***');
  for (const secret of secretsOf(url)) result = result.replaceAll(secret, '***');
  return result;
}

function secretsOf(url: string): readonly string[] {
  const parsed = parseUrl(url);
  if (parsed === undefined) return [];
  const { password, searchParams } = parsed;
  const raw = [password, searchParams.get('password') ?? ''];
  return raw.flatMap((secret) => (secret === '' ? [] : [secret, decoded(secret)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `host:port` of a URL, for messages. */
export function placeOf(url: string): string {
  return parseUrl(url)?.host ?? 'the server';
}
