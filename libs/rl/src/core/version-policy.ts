import { parseVersion, type WeightVersion } from './weight-version';
import { hasWhitespace } from './whitespace';

/** Which engines may serve a request, by the weights they hold. Source: SMG RL contract 5. */
export type VersionPolicy =
  | { readonly kind: 'any' }
  | { readonly kind: 'latest-only' }
  | { readonly kind: 'min-version'; readonly floor: WeightVersion }
  /** `distance`: versions an engine may be behind the latest, 0..2^64-1. */
  | { readonly kind: 'max-staleness'; readonly distance: bigint };

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: VersionPolicy }
  | { readonly ok: false; readonly reason: string };

export const ANY_VERSION: VersionPolicy = Object.freeze({ kind: 'any' });
const LATEST_ONLY: VersionPolicy = Object.freeze({ kind: 'latest-only' });

const MIN_VERSION = 'min-version:';
const MAX_STALENESS = 'max-staleness:';
const DECIMAL = /^\+?[0-9]+$/;

const refuse = (reason: string): ParsedPolicy => ({ ok: false, reason });
const accept = (policy: VersionPolicy): ParsedPolicy => ({
  ok: true,
  policy: Object.freeze(policy),
});

/**
 * Reads `any`, `latest-only`, `min-version:<v>` or `max-staleness:<k>`; nothing is trimmed and case
 * counts. The reasons are part of the contract.
 */
export function parseVersionPolicy(text: string): ParsedPolicy {
  if (text === 'any') return accept(ANY_VERSION);
  if (text === 'latest-only') return accept(LATEST_ONLY);
  if (text.startsWith(MIN_VERSION)) {
    const floor = text.slice(MIN_VERSION.length);
    if (floor === '' || hasWhitespace(floor)) {
      return refuse('min-version needs a version with no whitespace');
    }
    return accept({ kind: 'min-version', floor: parseVersion(floor) });
  }
  if (text.startsWith(MAX_STALENESS)) {
    const distance = text.slice(MAX_STALENESS.length);
    const number = DECIMAL.test(distance) ? parseVersion(distance).number : undefined;
    if (number === undefined) return refuse('max-staleness needs a decimal integer');
    return accept({ kind: 'max-staleness', distance: number });
  }
  return refuse('expected any | latest-only | min-version:<v> | max-staleness:<k>');
}

/** The canonical spelling; parsing it gives the policy back. */
export function printVersionPolicy(policy: VersionPolicy): string {
  switch (policy.kind) {
    case 'any':
    case 'latest-only':
      return policy.kind;
    case 'min-version':
      return MIN_VERSION + policy.floor.text;
    case 'max-staleness':
      return MAX_STALENESS + policy.distance.toString();
  }
}
