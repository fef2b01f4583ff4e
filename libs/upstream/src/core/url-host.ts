import { parseUrl } from '@smg/protocol';
import { isIP } from 'node:net';

/** Where a worker URL leads. */
export interface UrlHost {
  /** Lower case, without brackets; an address in its shortest form, a name as it is given to the resolver. */
  readonly host: string;
  /** The host is an IP address: no name is looked up. */
  readonly isAddress: boolean;
}

/**
 * Host of a worker URL in any spelling (`0x7f.1`, `2130706433`, `LOCALHOST.`, `[::1%25eth0]`, with or
 * without `@<rank>`), as connecting to it reads it; undefined when it is no URL.
 */
export function hostOf(url: string): UrlHost | undefined {
  // A rank would make the host a user name; a zone is no part of the URL standard.
  const { text, zone } = splitZone(url.replace(/@\d{1,5}\/?$/, ''));
  const hostname = parseUrl(text)?.hostname ?? '';
  if (hostname === '') return undefined;
  if (hostname.startsWith('[')) {
    return { host: `${hostname.slice(1, -1)}${zone}`, isAddress: true };
  }
  const host = resolvable(hostname.toLowerCase());
  return { host, isAddress: isIP(host) !== 0 };
}

/** A URL without the zone of its IPv6 host, and that zone as sockets write it: `%eth0`, or nothing. */
export function splitZone(url: string): { readonly text: string; readonly zone: string } {
  const found = /^([a-z]+:\/\/\[[0-9a-f:.]+)%(?:25)?([\w.~-]+)\]/i.exec(url);
  if (found === null) return { text: url, zone: '' };
  const [whole, before = '', zone = ''] = found;
  return { text: `${before}]${url.slice(whole.length)}`, zone: `%${zone}` };
}

/**
 * A name as the resolver knows it. Rooted names stay rooted, so that no search domain is tried; but
 * hosts files and resolvers know `localhost` only without the dot (RFC 6761 makes it one name).
 */
export function resolvable(name: string): string {
  return /^(?:.+\.)?localhost\.$/i.test(name) ? name.slice(0, -1) : name;
}
