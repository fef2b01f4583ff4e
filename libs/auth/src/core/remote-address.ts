import { BlockList, isIP, isIPv4 } from 'node:net';

/** Networks that are nobody's on the public Internet. Source: the IANA special-purpose registries. */
const PRIVATE_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** Parts of 2000::/3, the only public unicast, that are not public or lead elsewhere. */
const PRIVATE_IPV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const ipv4 = new BlockList();
for (const [network, bits] of PRIVATE_IPV4) ipv4.addSubnet(network, bits, 'ipv4');
const ipv6 = new BlockList();
for (const [network, bits] of PRIVATE_IPV6) ipv6.addSubnet(network, bits, 'ipv6');
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');
const nat64 = new BlockList();
nat64.addSubnet('64:ff9b::', 96, 'ipv6');

/** The IPv4 address in one of NAT64 (RFC 6052), by which IPv6-only networks reach public IPv4. */
function translatedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6 || !nat64.check(address, 'ipv6')) return undefined;
  // The URL parser writes every spelling in one way: `[64:ff9b::102:304]`.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [high = 0, low = 0] = text
    .slice('64:ff9b:'.length)
    .split(':')
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Whether an IP address is not on the public Internet; true for what is no address. */
export function isPrivateAddress(address: string): boolean {
  if (isIPv4(address)) return ipv4.check(address, 'ipv4');
  const bare = address.split('%', 1)[0] ?? '';
  const embedded = translatedIpv4(bare);
  if (embedded !== undefined) return ipv4.check(embedded, 'ipv4');
  // Mapped, translated and tunnelled IPv4 is outside 2000::/3 or in the list.
  return isIP(bare) !== 6 || !unicast.check(bare, 'ipv6') || ipv6.check(bare, 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

/** Host of a URL without the brackets of IPv6 and the dot of an absolute name; lower case. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Hosts that mean this machine. */
export function isLocalHost(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '::1';
}

/**
 * Why keys are not fetched from this URL, or undefined. Names are not resolved here; what they resolve
 * to is judged by {@link refusalOfAddress} when the connection is made. Source: SMG contract 8.3.
 */
export function refusalOfUrl(url: URL): string | undefined {
  const host = hostOf(url);
  const isLocal = isLocalHost(host);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    return 'only https is allowed, and http to localhost';
  }
  if (url.username !== '' || url.password !== '') return 'credentials in a URL are not allowed';
  if (isLocal) return undefined;
  if (/(^|\.)(internal|local|localhost)$/.test(host)) return 'internal names are not allowed';
  return isIP(host) !== 0 && isPrivateAddress(host)
    ? 'private addresses are not allowed'
    : undefined;
}

/** @param host as in the URL. @param address what it resolves to. */
export function refusalOfAddress(host: string, address: string): string | undefined {
  if (isLocalHost(host)) {
    return isLoopbackAddress(address) ? undefined : 'localhost leads to another machine';
  }
  return isPrivateAddress(address) ? 'the name leads to a private address' : undefined;
}
