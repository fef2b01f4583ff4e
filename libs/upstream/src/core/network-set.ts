import { BlockList, isIP, isIPv4 } from 'node:net';
import { mappedIPv4, withoutZone } from './ipv6';

/** A network as `address/bits`. */
export interface Network {
  readonly address: string;
  readonly bits: number;
}

/**
 * Reads `address/bits`; an address alone is a network of one. A network of IPv4-mapped addresses is
 * the IPv4 network itself, however it is spelled.
 * @throws Error for anything else.
 */
export function parseNetwork(text: string): Network {
  const found = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text);
  const address = found?.[1] ?? '';
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  const bits = Number(found?.[2] ?? most);
  if (version === 0 || bits > most) throw new Error(`not a network: ${text}`);
  const inner = version === 6 && bits >= 96 ? mappedIPv4(address) : undefined;
  return inner === undefined ? { address, bits } : { address: inner, bits: bits - 96 };
}

/**
 * Networks to look an address up in. One list per family: a single {@link BlockList} compares IPv4
 * addresses with IPv6 networks as well, and `::/0` would then mean everything.
 */
export class NetworkSet {
  private readonly v4 = new BlockList();
  private readonly v6 = new BlockList();

  constructor(networks: readonly Network[]) {
    for (const { address, bits } of networks) {
      if (isIPv4(address)) this.v4.addSubnet(address, bits, 'ipv4');
      else this.v6.addSubnet(address, bits, 'ipv6');
    }
  }

  /** @param address an IP address; a zone is ignored. */
  has(address: string): boolean {
    const plain = withoutZone(address);
    return isIPv4(plain) ? this.v4.check(plain, 'ipv4') : this.v6.check(plain, 'ipv6');
  }
}
