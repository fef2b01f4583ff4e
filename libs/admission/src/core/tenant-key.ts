import { type AdmissionRequest } from '@smg/plugin-api';
import { isIP, isIPv4, SocketAddress } from 'node:net';

/** Nobody is known: neither a key nor a trusted header nor an address. */
export const ANONYMOUS = 'anonymous';

/** What a file must name a tenant by. */
export const TENANT_KEY_FORMS =
  'auth:<id>, header:<value>, ip:<address> or anonymous, as a request can have it';

/** Visible ASCII: safe in a log, and without the comma-space of a repeated header. */
const HEADER_VALUE = /^[\x21-\x7e]{1,256}$/;
const MAPPED = /^::ffff:/i;

/**
 * Who is charged. Credentials come first, then the trusted header, then the address.
 * @param trustedHeader lower case; undefined when no header is trusted.
 */
export function tenantOf(request: AdmissionRequest, trustedHeader: string | undefined): string {
  if (request.authenticatedTenant !== undefined) return request.authenticatedTenant;
  const value = trustedHeader === undefined ? undefined : request.header(trustedHeader);
  // A value nobody can write down, or one of several, names nobody.
  if (value !== undefined && HEADER_VALUE.test(value)) return `header:${value}`;
  return request.peer === undefined ? ANONYMOUS : `ip:${plainAddress(request.peer)}`;
}

/** IPv4 in its own form: a dual-stack socket reports `::ffff:192.0.2.1`. */
function plainAddress(address: string): string {
  if (!MAPPED.test(address)) return address;
  const rest = address.slice(7);
  return isIPv4(rest) ? rest : address;
}

/**
 * A tenant as a file names it, in the form `tenantOf` gives.
 * @returns undefined when no request can ever have this tenant.
 */
export function canonicalTenant(text: string): string | undefined {
  if (text === ANONYMOUS) return text;
  const colon = text.indexOf(':');
  const value = text.slice(colon + 1);
  switch (text.slice(0, colon)) {
    case 'auth':
      return value === '' ? undefined : text;
    case 'header':
      return HEADER_VALUE.test(value) ? text : undefined;
    case 'ip':
      return canonicalIp(value);
    default:
      return undefined;
  }
}

function canonicalIp(value: string): string | undefined {
  const family = isIP(value);
  if (family === 0) return undefined;
  // A zone is part of what a socket reports, and has no other spelling.
  if (family === 4 || value.includes('%')) return `ip:${value}`;
  return `ip:${plainAddress(new SocketAddress({ address: value, family: 'ipv6' }).address)}`;
}
