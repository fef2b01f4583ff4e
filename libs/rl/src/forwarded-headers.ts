import { bytesOf, type RlRequest } from './rl.http';

/** What an engine gets of the caller's headers; its credentials are never among them. */
const FORWARDED: ReadonlySet<string> = new Set([
  'content-type',
  'x-request-id',
  'traceparent',
  'tracestate',
]);

/**
 * Headers of a control call, as a flat list: the caller's own tracing headers and content type, or
 * `application/json` for a body of no type. Source: SMG RL contract 2.2.
 */
export function forwardedHeaders(request: RlRequest): readonly string[] {
  return forwardedOf(request.raw.rawHeaders, bytesOf(request).length > 0);
}

/** The same of a raw head. */
export function forwardedOf(rawHeaders: readonly string[], hasBody: boolean): readonly string[] {
  const out: string[] = [];
  let hasType = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (!FORWARDED.has(name)) continue;
    if (name === 'content-type') {
      if (hasType) continue;
      hasType = true;
    }
    out.push(name, rawHeaders[at + 1] ?? '');
  }
  if (!hasType && hasBody) out.push('content-type', 'application/json');
  return out;
}
