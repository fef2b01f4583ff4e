/**
 * `Authorization: Bearer <token>` (RFC 6750): the scheme is compared without case and may be
 * followed by one space or more. Node hands header bytes over as Latin-1.
 */

const SCHEME = 'bearer';
const SPACE = 0x20;

/**
 * The token of a Bearer header.
 * @returns undefined when the header is missing, of another scheme, or carries no token.
 */
export function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  if (authorization.charCodeAt(SCHEME.length) !== SPACE) return undefined;
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  let start = SCHEME.length;
  while (authorization.charCodeAt(start) === SPACE) start++;
  let end = authorization.length;
  while (end > start && authorization.charCodeAt(end - 1) === SPACE) end--;
  return end > start ? authorization.slice(start, end) : undefined;
}
