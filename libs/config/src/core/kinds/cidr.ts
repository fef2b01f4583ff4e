import { isIP } from 'node:net';
import { bad, good } from '../parsed';
import { show } from '../show';
import { type Scalar } from './kind';
import { text } from './texts';

/** A network as `address/bits`; an address alone is a network of one. */
export const cidr: Scalar<string> = text({
  label: 'CIDR',
  rule: 'an IPv4 or IPv6 network such as 10.0.0.0/8 or fd00::/8',
  check: (value) => {
    const [address = '', bits, ...rest] = value.split('/');
    const version = isIP(address);
    if (version === 0 || address.includes('%') || rest.length > 0) {
      return bad(`${show(value)} is not a network`);
    }
    const most = version === 4 ? 32 : 128;
    if (bits === undefined) return good(`${address}/${most}`);
    return /^\d{1,3}$/.test(bits) && Number(bits) <= most
      ? good(value)
      : bad(`${show(value)}: the prefix length is not 0 to ${most}`);
  },
});
