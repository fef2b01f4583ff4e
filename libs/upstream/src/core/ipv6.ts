/** What a scoped address is without its zone: `fe80::1%eth0` is `fe80::1`. */
export function withoutZone(address: string): string {
  const at = address.indexOf('%');
  return at === -1 ? address : address.slice(0, at);
}

/**
 * The eight 16-bit groups of an IPv6 address.
 * @param address valid, without brackets and zone; the last 32 bits may be written as IPv4.
 */
export function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const left = readGroups(head);
  if (tail === undefined) return left;
  const right = readGroups(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function readGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

/** The eight groups by number, and ways to read IPv4 out of them. */
class Groups {
  constructor(private readonly groups: readonly number[]) {}

  at(index: number): number {
    return this.groups[index] ?? 0;
  }

  /** Groups `from` up to, but not including, `to` are all zero. */
  areZero(from: number, to: number): boolean {
    return this.groups.slice(from, to).every((group) => group === 0);
  }

  /** The four bytes from byte `at` on; byte 8 is left out, as RFC 6052 has it. */
  ipv4At(at: number): string {
    const bytes = [];
    for (let i = at; bytes.length < 4; i++) if (i !== 8 || at > 8) bytes.push(this.byte(i));
    return bytes.join('.');
  }

  private byte(index: number): number {
    const group = this.at(index >> 1);
    return index % 2 === 0 ? group >> 8 : group & 0xff;
  }
}

type Embedding = (g: Groups) => readonly string[];

// RFC 4291: IPv4-mapped. The kernel sends IPv4.
const mapped: Embedding = (g) => (g.areZero(0, 5) && g.at(5) === 0xffff ? [g.ipv4At(12)] : []);
// RFC 6052: NAT64 under the well-known prefix.
const wellKnownNat64: Embedding = (g) => (isNat64(g) && g.areZero(2, 6) ? [g.ipv4At(12)] : []);

/** Ways to carry an IPv4 address inside an IPv6 address: what it looks like, and the bytes meant. */
const EMBEDDINGS: readonly Embedding[] = [
  mapped,
  // RFC 4291: IPv4-compatible, deprecated. `::` and `::1` are addresses of their own.
  (g) => (g.areZero(0, 6) && (g.at(6) !== 0 || g.at(7) > 1) ? [g.ipv4At(12)] : []),
  // RFC 2765: IPv4-translated.
  (g) => (g.areZero(0, 4) && g.at(4) === 0xffff && g.at(5) === 0 ? [g.ipv4At(12)] : []),
  // RFC 3056: 6to4.
  (g) => (g.at(0) === 0x2002 ? [g.ipv4At(2)] : []),
  // RFC 4380: Teredo; the client's address with its bits turned.
  (g) =>
    g.at(0) === 0x2001 && g.at(1) === 0
      ? [new Groups([g.at(6) ^ 0xffff, g.at(7) ^ 0xffff]).ipv4At(0)]
      : [],
  wellKnownNat64,
  // RFC 8215: NAT64 under the prefix for local use. How long the prefix is in fact is not known, so
  // that every layout of RFC 6052 is read; one that gives 0.x.x.x is not meant.
  (g) =>
    isNat64(g) && g.at(2) === 1
      ? [12, 9, 7, 6].map((at) => g.ipv4At(at)).filter((address) => !address.startsWith('0.'))
      : [],
  // RFC 5214: ISATAP, an interface id under any prefix.
  (g) => ((g.at(4) & 0xfdff) === 0 && g.at(5) === 0x5efe ? [g.ipv4At(12)] : []),
];

const isNat64 = (g: Groups): boolean => g.at(0) === 0x64 && g.at(1) === 0xff9b;

/**
 * IPv4 addresses a packet to this IPv6 address may end up at: what the sender's kernel, a relay or a
 * translator reads out of it. Empty for an address that stands for itself.
 * @param address valid, without brackets and zone.
 */
export function embeddedIPv4(address: string): readonly string[] {
  const groups = new Groups(groupsOf(address));
  return EMBEDDINGS.flatMap((read) => read(groups));
}

/**
 * The IPv4 address a packet to this IPv6 address ends up at, and nowhere else. The other embeddings lie
 * under prefixes anybody may own, or leave open which bytes are meant: those may not vouch for it.
 * @param address valid, without brackets and zone.
 */
export function certainIPv4(address: string): readonly string[] {
  const groups = new Groups(groupsOf(address));
  return [...mapped(groups), ...wellKnownNat64(groups)];
}

/** The IPv4 address an IPv4-mapped IPv6 address is another spelling of. */
export function mappedIPv4(address: string): string | undefined {
  return mapped(new Groups(groupsOf(address)))[0];
}
