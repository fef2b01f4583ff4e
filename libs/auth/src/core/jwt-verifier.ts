import { type Principal } from '@smg/plugin-api';
import { type ExpectedClaims, refusalOfClaims } from './jwt-claims';
import { principalOfClaims, type RoleReader } from './jwt-principal';
import { type KeyLookup, type VerifyKey } from './jwks-cache';
import { readToken, type ReadToken } from './jwt-token';
import { type JwtRefusal } from './refusal-reasons';
import { TokenCache } from './token-cache';

/** Who a token stands for, or why it is refused. */
export type JwtOutcome = Principal | JwtRefusal | 'jwks_unavailable';

export interface JwtPorts {
  lookUp(kid: string): KeyLookup | Promise<KeyLookup>;
  /** Whether the signature is the key's; false for anything that goes wrong. */
  hasSignature(token: string, key: VerifyKey): Promise<boolean>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Judges tokens: what is cheap first, then the key, then the signature. */
export class JwtVerifier {
  private readonly verified = new TokenCache();

  constructor(
    private readonly expected: ExpectedClaims,
    private readonly roles: RoleReader,
    private readonly ports: JwtPorts,
  ) {}

  /** @param token three dot-separated parts. Synchronous for a refusal and for a token seen before. */
  verify(token: string): JwtOutcome | Promise<JwtOutcome> {
    const read = readToken(token);
    if (typeof read === 'string') return read;
    const nowSecs = this.ports.now() / 1000;
    const refusal = refusalOfClaims(read.claims, this.expected, nowSecs);
    if (refusal !== undefined) return refusal;
    const found = this.ports.lookUp(read.kid);
    if (found instanceof Promise) return found.then((keys) => this.withKeys(token, read, keys));
    return this.withKeys(token, read, found);
  }

  private withKeys(
    token: string,
    read: ReadToken,
    found: KeyLookup,
  ): JwtOutcome | Promise<JwtOutcome> {
    if (found === 'unavailable') return 'jwks_unavailable';
    if (found === 'unknown') return 'jwt_unknown_key';
    const key = found.find(({ alg }) => alg === read.alg);
    if (key === undefined) return 'jwt_key_mismatch';
    const digest = TokenCache.digestOf(token);
    const known = this.verified.get(digest, this.ports.now() / 1000);
    // A key that left the set, or changed under its id, takes its tokens with it.
    if (known?.key === key) return known.principal;
    return this.withSignature(token, digest, read, key);
  }

  private async withSignature(
    token: string,
    digest: string,
    read: ReadToken,
    key: VerifyKey,
  ): Promise<JwtOutcome> {
    if (!(await this.ports.hasSignature(token, key))) return 'jwt_signature';
    const principal = principalOfClaims(read.claims, this.roles);
    this.verified.set(digest, { principal, key, exp: Number(read.claims['exp']) });
    return principal;
  }
}
