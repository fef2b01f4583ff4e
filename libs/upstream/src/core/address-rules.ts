import { isIP, isIPv6 } from 'node:net';
import { BUILTIN_DENIALS } from './builtin-denials';
import { certainIPv4, embeddedIPv4, withoutZone } from './ipv6';
import { NetworkSet, parseNetwork, type Network } from './network-set';

/** A built-in denial, and what the allow list takes out of it. */
interface Denial {
  readonly network: string;
  readonly what: string;
  readonly set: NetworkSet;
  readonly exceptions: NetworkSet;
}

/**
 * Which addresses workers may have. In this order:
 * 1. a denied network always refuses;
 * 2. a built-in denial refuses, unless an allowed network that lies inside it (the same one, or a
 *    smaller one) has the address: `0.0.0.0/0` opens no metadata service, `169.254.169.254/32` does;
 * 3. with allowed networks, everything outside them is refused, loopback included.
 *
 * An IPv6 address that may carry an IPv4 address is judged by what it carries as well: either one may
 * refuse. The one inside is only allowed for it where that is certain to be where a packet ends up.
 */
export class AddressRules {
  private readonly denied: NetworkSet;
  private readonly allowed: NetworkSet | undefined;
  private readonly denials: readonly Denial[];
  /** All of {@link denials} at once, so that an ordinary address costs one look. */
  private readonly anyDenial: NetworkSet;

  /** @throws Error for an entry that is no network. */
  constructor(allow: readonly string[] = [], deny: readonly string[] = []) {
    const allowed = allow.map(parseNetwork);
    this.allowed = allowed.length === 0 ? undefined : new NetworkSet(allowed);
    this.denied = new NetworkSet(deny.map(parseNetwork));
    this.denials = BUILTIN_DENIALS.map(({ network, what }) => denialOf(network, what, allowed));
    this.anyDenial = new NetworkSet(BUILTIN_DENIALS.map(({ network }) => parseNetwork(network)));
  }

  /**
   * @param address an IP address as sockets take it: no brackets, a zone is allowed.
   * @returns why no worker may be there, or undefined.
   */
  refusalOf(address: string): string | undefined {
    const plain = withoutZone(address);
    if (isIP(plain) === 0) return 'it is not an IP address';
    const forms = isIPv6(plain) ? [plain, ...embeddedIPv4(plain)] : [plain];
    for (const form of forms) {
      const why = this.denialOf(form);
      if (why !== undefined) return `${form === plain ? 'it' : `${form} inside it`} ${why}`;
    }
    return this.isAllowed(plain) ? undefined : 'it is in no network of --worker-allow-cidr';
  }

  private isAllowed(address: string): boolean {
    const { allowed } = this;
    if (allowed === undefined || allowed.has(address)) return true;
    return isIPv6(address) && certainIPv4(address).some((inner) => allowed.has(inner));
  }

  private denialOf(address: string): string | undefined {
    if (this.denied.has(address)) return 'is in a network of --worker-deny-cidr';
    if (!this.anyDenial.has(address)) return undefined;
    const denial = this.denials.find(
      ({ set, exceptions }) => set.has(address) && !exceptions.has(address),
    );
    return denial === undefined ? undefined : `is ${denial.what} (${denial.network})`;
  }
}

function denialOf(network: string, what: string, allowed: readonly Network[]): Denial {
  const denied = parseNetwork(network);
  const set = new NetworkSet([denied]);
  const inside = allowed.filter(
    ({ address, bits }) =>
      isIP(address) === isIP(denied.address) && bits >= denied.bits && set.has(address),
  );
  return { network, what, set, exceptions: new NetworkSet(inside) };
}
