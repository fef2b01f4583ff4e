import { type OutgoingHttpHeader, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';

type WriteHead = (status: number, ...rest: unknown[]) => ServerResponse;

/**
 * Lets the answer go out with `ours` and without any other CORS header, an engine's say, whoever writes
 * its head and in whichever of Node's ways: a list, an object, or headers set one by one.
 *
 * @param ours flat list of lower-case names and values.
 */
export function writeCorsHeaders(response: ServerResponse, ours: readonly string[]): void {
  const writeHead = response.writeHead.bind(response) as WriteHead;
  const withCors: WriteHead = (status, ...rest) => {
    const headers = rest.pop();
    for (const name of response.getHeaderNames()) {
      if (isForeign(name)) response.removeHeader(name);
    }
    if (Array.isArray(headers)) {
      return writeHead(status, ...rest, mergedList(headers as readonly unknown[], ours));
    }
    if (typeof headers === 'object' && headers !== null) {
      return writeHead(status, ...rest, mergedObject(headers as OutgoingHttpHeaders, ours));
    }
    for (let i = 0; i < ours.length; i += 2) {
      const [name = '', value = ''] = ours.slice(i, i + 2);
      response.setHeader(name, added(response.getHeader(name), name, value));
    }
    return headers === undefined ? writeHead(status, ...rest) : writeHead(status, ...rest, headers);
  };
  response.writeHead = withCors;
}

function isForeign(name: string): boolean {
  return name.toLowerCase().startsWith('access-control-');
}

function mergedList(headers: readonly unknown[], ours: readonly string[]): unknown[] {
  const merged: unknown[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = String(headers[i]);
    if (!isForeign(name) && !isVaryOrigin(name, headers[i + 1], ours)) {
      merged.push(name, headers[i + 1]);
    }
  }
  merged.push(...ours);
  return merged;
}

/** An engine that minds origins too says so in the same words. */
function isVaryOrigin(name: string, value: unknown, ours: readonly string[]): boolean {
  if (name.toLowerCase() !== 'vary' || !ours.includes('vary')) return false;
  return typeof value === 'string' && value.trim().toLowerCase() === 'origin';
}

function mergedObject(headers: OutgoingHttpHeaders, ours: readonly string[]): OutgoingHttpHeaders {
  const merged: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!isForeign(name)) merged[name] = value;
  }
  for (let i = 0; i < ours.length; i += 2) {
    const [name = '', value = ''] = ours.slice(i, i + 2);
    merged[name] = added(merged[name], name, value);
  }
  return merged;
}

/** Only `vary` has values of others beside ours. */
function added(
  known: OutgoingHttpHeader | undefined,
  name: string,
  value: string,
): string | string[] {
  if (name !== 'vary' || known === undefined) return value;
  const others = [known].flat().map(String);
  return others.some((other) => /(^|[\s,])origin($|[\s,])/i.test(other))
    ? others
    : [...others, value];
}
