import { type Claims } from './jwt-token';
import { type JwtRefusal } from './refusal-reasons';

/** Seconds by which clocks may differ; inclusive. Source: SMG contract 8.3. */
export const LEEWAY_SECS = 30;
/** Last second of the year 9999: what lies beyond is no date. */
const LAST_SECOND = 253_402_300_799;

export interface ExpectedClaims {
  readonly issuer: string;
  readonly audience: string;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LAST_SECOND;
}

function hasAudience(aud: unknown, audience: string): boolean {
  return Array.isArray(aud) ? aud.includes(audience) : aud === audience;
}

/** @param nowSecs seconds since 1970, with fractions. */
export function refusalOfClaims(
  claims: Claims,
  expected: ExpectedClaims,
  nowSecs: number,
): JwtRefusal | undefined {
  const { iss, aud, exp, nbf, iat } = claims;
  if (iss !== expected.issuer) return 'jwt_issuer';
  if (!hasAudience(aud, expected.audience)) return 'jwt_audience';
  if (!isTime(exp)) return 'jwt_exp';
  if (nowSecs > exp + LEEWAY_SECS) return 'jwt_expired';
  if (nbf !== undefined) {
    if (!isTime(nbf)) return 'jwt_time';
    if (nbf > nowSecs + LEEWAY_SECS) return 'jwt_not_yet_valid';
  }
  if (iat !== undefined) {
    if (!isTime(iat)) return 'jwt_time';
    if (iat > nowSecs + LEEWAY_SECS) return 'jwt_issued_in_future';
  }
  return undefined;
}
