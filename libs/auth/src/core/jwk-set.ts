import { ALGORITHMS, type Algorithm } from './jwt-token';

/** A public key of the issuer as it stands in its set. */
export interface UsableJwk {
  readonly kid: string;
  /** The only algorithm it verifies. */
  readonly alg: Algorithm;
  /** Public members alone. */
  readonly jwk: Readonly<Record<string, string>>;
  /** Equal for equal keys; a key that stays in the set is imported once. */
  readonly fingerprint: string;
}

type Members = Readonly<Record<string, unknown>>;

const CURVES: Readonly<Record<string, Algorithm>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
};
/** Bits of a modulus: below is weak, above costs too much per token. */
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;

/**
 * Keys that may verify tokens; what cannot be used is left out.
 * @param document parsed JSON of a JWK set.
 */
export function usableKeys(document: unknown): readonly UsableJwk[] {
  const keys = isObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys)) return [];
  return keys.flatMap((key: unknown) => {
    const usable = isObject(key) ? usableKey(key) : undefined;
    return usable === undefined ? [] : [usable];
  });
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function usableKey(key: Members): UsableJwk | undefined {
  const { kid, use, key_ops: operations } = key;
  if (typeof kid !== 'string' || kid === '') return undefined;
  if (use !== undefined && use !== 'sig') return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return undefined;
  }
  const alg = algorithmOf(key);
  const jwk = alg === undefined ? undefined : publicMembers(key);
  if (alg === undefined || jwk === undefined) return undefined;
  return { kid, alg, jwk, fingerprint: JSON.stringify([kid, alg, jwk]) };
}

/** The key binds the algorithm: a token has no say in how it is verified. */
function algorithmOf({ kty, alg, crv }: Members): Algorithm | undefined {
  if (kty === 'RSA') {
    if (alg === undefined) return 'RS256';
    return ALGORITHMS.find((known) => known === alg && /^[RP]S/.test(known));
  }
  let bound: Algorithm | undefined;
  if (kty === 'EC' && typeof crv === 'string' && Object.hasOwn(CURVES, crv)) bound = CURVES[crv];
  // RFC 9864 gives the algorithm of this curve a name of its own; tokens still say EdDSA.
  if (kty === 'OKP' && crv === 'Ed25519') bound = 'EdDSA';
  const agrees = alg === undefined || alg === bound || (bound === 'EdDSA' && alg === 'Ed25519');
  return agrees ? bound : undefined;
}

function publicMembers(key: Members): Readonly<Record<string, string>> | undefined {
  const names =
    key['kty'] === 'RSA' ? ['n', 'e'] : key['kty'] === 'EC' ? ['crv', 'x', 'y'] : ['crv', 'x'];
  const jwk: Record<string, string> = { kty: String(key['kty']) };
  for (const name of names) {
    const value = key[name];
    if (typeof value !== 'string' || value === '') return undefined;
    jwk[name] = value;
  }
  if (jwk['n'] === undefined) return jwk;
  const bits = modulusBits(jwk['n']);
  return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? jwk : undefined;
}

function modulusBits(n: string): number {
  const bytes = Buffer.from(n, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  if (first < 0) return 0;
  return (bytes.length - first) * 8 - Math.clz32(bytes[first] ?? 0) + 24;
}
