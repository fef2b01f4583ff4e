import { BoundedCache } from './bounded-cache';
import { parseVersionPolicy, printVersionPolicy, type VersionPolicy } from './version-policy';

/** A header value that is no version policy. */
export interface PolicyHeaderFault {
  readonly kind: 'fault';
  /** What the client reads. */
  readonly message: string;
}

/** Distinct header values remembered; one that varies only costs its sender the parsing. */
const REMEMBERED = 256;
/** Characters; longer values are parsed each time, so what a client sends cannot fill memory. */
const REMEMBERED_LENGTH = 256;
/** Characters of a refused value that the message shows. */
const SHOWN = 256;
/** What a field value may hold and still be read as text. */
const VISIBLE = /^[\t\x20-\x7e]*$/;

/**
 * The policy of one request: the header's if there is one, else the configured one. The same text
 * gives the same object, so what is derived from a policy can be kept under its identity.
 */
export class PolicyHeader {
  private readonly known = new BoundedCache<string, VersionPolicy>(REMEMBERED);
  private readonly canonical = new BoundedCache<string, VersionPolicy>(REMEMBERED);
  // A trainer asks for one policy, request after request.
  private lastValue: string | undefined;
  private lastPolicy: VersionPolicy;

  /** @param fallback policy of a request without the header. */
  constructor(readonly fallback: VersionPolicy) {
    this.lastPolicy = fallback;
    this.canonical.set(printVersionPolicy(fallback), fallback);
  }

  /** @param value the header; repeats joined with `, `, of which the first counts. */
  read(value: string | undefined): VersionPolicy | PolicyHeaderFault {
    if (value === undefined) return this.fallback;
    if (value === this.lastValue) return this.lastPolicy;
    const known = this.known.get(value);
    if (known === undefined) return this.parse(value);
    this.lastValue = value;
    this.lastPolicy = known;
    return known;
  }

  private parse(value: string): VersionPolicy | PolicyHeaderFault {
    // A policy holds no blank, so a comma followed by one can only be the seam of two header lines.
    const seam = value.indexOf(', ');
    const first = (seam < 0 ? value : value.slice(0, seam)).replace(/^[\t ]+|[\t ]+$/g, '');
    if (!VISIBLE.test(first)) return fault(first, 'header value is not UTF-8');
    const parsed = parseVersionPolicy(first);
    if (!parsed.ok) return fault(first, parsed.reason);
    const policy = this.intern(parsed.policy);
    if (value.length <= REMEMBERED_LENGTH) this.known.set(value, policy);
    return policy;
  }

  private intern(policy: VersionPolicy): VersionPolicy {
    const spelled = printVersionPolicy(policy);
    const same = this.canonical.get(spelled);
    if (same !== undefined) return same;
    if (spelled.length <= REMEMBERED_LENGTH) this.canonical.set(spelled, policy);
    return policy;
  }
}

function fault(value: string, reason: string): PolicyHeaderFault {
  const shown = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value;
  const legible = shown.replace(/[^\t\x20-\x7e…]/g, '\ufffd');
  return { kind: 'fault', message: `invalid version policy \`${legible}\`: ${reason}` };
}
