/** A network no worker is in, unless the allow list names it. */
export interface BuiltinDenial {
  readonly network: string;
  /** Completes "is …". */
  readonly what: string;
}

const METADATA = 'a cloud metadata service';
const LINK_LOCAL = 'link-local';

/**
 * Where a URL must never lead a gateway, since what answers there hands out credentials of the
 * machine or is not a host at all. Sources: the providers' documentation of their metadata services,
 * and the IANA registries of special-purpose addresses.
 *
 * Services inside link-local networks are listed once more by themselves: who allows a link-local
 * network for its workers has not thereby allowed the metadata service in it.
 */
export const BUILTIN_DENIALS: readonly BuiltinDenial[] = [
  // AWS, Azure, Google Cloud, OCI, IBM, DigitalOcean, Hetzner, Linode, OpenStack, Alibaba (new).
  { network: '169.254.169.254/32', what: METADATA },
  // AWS: task credentials of ECS and pod identity of EKS; Amazon's own services of a VPC over IPv6
  // (fd00:ec2::254 is the metadata service, fd00:ec2::23 pod identity, fd00:ec2::253 names).
  { network: '169.254.170.2/32', what: METADATA },
  { network: '169.254.170.23/32', what: METADATA },
  { network: 'fd00:ec2::/32', what: METADATA },
  // Google Cloud over IPv6.
  { network: 'fd20:ce::254/128', what: METADATA },
  // Azure: the host's agent (WireServer), a public address that every virtual machine reaches.
  { network: '168.63.129.16/32', what: METADATA },
  // Alibaba Cloud; inside the carrier-grade NAT range.
  { network: '100.100.100.200/32', what: METADATA },
  // Oracle Cloud: Classic, and over IPv6.
  { network: '192.0.0.192/32', what: METADATA },
  { network: 'fd00:c1::a9fe:a9fe/128', what: METADATA },
  // Tencent Cloud.
  { network: '169.254.0.23/32', what: METADATA },
  // Scaleway.
  { network: '169.254.42.42/32', what: METADATA },
  { network: 'fd00:42::42/128', what: METADATA },
  // Linode over IPv6; OpenStack over IPv6.
  { network: 'fd00:a9fe:a9fe::1/128', what: METADATA },
  { network: 'fe80::a9fe:a9fe/128', what: METADATA },
  // RFC 3927, RFC 4291.
  { network: '169.254.0.0/16', what: LINK_LOCAL },
  { network: 'fe80::/10', what: LINK_LOCAL },
  // RFC 1122: "this" network; kernels take it for loopback.
  { network: '0.0.0.0/8', what: 'the unspecified address' },
  { network: '::/128', what: 'the unspecified address' },
  { network: '224.0.0.0/4', what: 'multicast' },
  { network: 'ff00::/8', what: 'multicast' },
  { network: '255.255.255.255/32', what: 'the broadcast address' },
];
