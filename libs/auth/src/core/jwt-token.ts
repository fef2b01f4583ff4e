import { looksLikeToken } from './key-material';
import { type JwtRefusal } from './refusal-reasons';

/** Characters; real tokens with many groups have a few thousand. */
const MAX_TOKEN_LENGTH = 16 * 1024;
/** Characters of a key id. */
const MAX_KID_LENGTH = 512;

/** Signatures that need a key pair, and nothing else: no HMAC, no `none`. RFC 7518, RFC 8037. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'EdDSA',
] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

export type Claims = Readonly<Record<string, unknown>>;

/** A token that has been read and not verified. */
export interface ReadToken {
  readonly alg: Algorithm;
  readonly kid: string;
  readonly claims: Claims;
}

export const isAlgorithm = (value: unknown): value is Algorithm =>
  (ALGORITHMS as readonly unknown[]).includes(value);

/** Three dot-separated parts: judged as a token and as nothing else. */
export const isToken: (text: string) => boolean = looksLikeToken;

/**
 * Strict base64url without padding: Node's decoder skips what it does not know, and bits that are left
 * over. They are zero here, so that a token has one spelling.
 */
const PART = /^(?:[\w-]{4})*(?:[\w-]{4}|[\w-]{2}[AEIMQUYcgkosw048]|[\w-][AQgw])$/;

function readObject(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Headers that bring or point to a key of the sender's own, or demand what nobody here knows. */
const REFUSED_HEADERS = ['crit', 'jwk', 'jku', 'x5u', 'b64'] as const;

/** Reads what costs nothing to read; the signature comes last. */
export function readToken(token: string): ReadToken | JwtRefusal {
  if (token.length > MAX_TOKEN_LENGTH) return 'jwt_too_long';
  const parts = token.split('.');
  const [head, body] = parts;
  if (head === undefined || body === undefined || !parts.every((part) => PART.test(part))) {
    return 'jwt_malformed';
  }
  const header = readObject(head);
  if (header === undefined) return 'jwt_malformed';
  const { alg, kid } = header;
  if (!isAlgorithm(alg)) return 'jwt_algorithm';
  if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) return 'jwt_header';
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_LENGTH) return 'jwt_kid';
  const claims = readObject(body);
  return claims === undefined ? 'jwt_malformed' : { alg, kid, claims };
}
