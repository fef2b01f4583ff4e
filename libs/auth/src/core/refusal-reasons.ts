/**
 * Why a request was refused: the values of the label `reason`, fixed so that no client chooses one.
 * Those of tokens carry the text after `Invalid JWT: `; texts are stable.
 */
export const JWT_REFUSALS = {
  jwt_too_long: 'token is too long',
  jwt_malformed: 'malformed token',
  jwt_header: 'unsupported header',
  jwt_algorithm: 'unsupported algorithm',
  jwt_kid: 'missing kid',
  jwt_unknown_key: 'unknown key',
  jwt_key_mismatch: 'algorithm does not match the key',
  jwt_signature: 'invalid signature',
  jwt_exp: 'missing or unusable exp',
  jwt_expired: 'token has expired',
  jwt_not_yet_valid: 'token is not yet valid',
  jwt_issued_in_future: 'token was issued in the future',
  jwt_time: 'unusable nbf or iat',
  jwt_issuer: 'wrong issuer',
  jwt_audience: 'wrong audience',
} as const;

/** Why a token is not accepted. */
export type JwtRefusal = keyof typeof JWT_REFUSALS;

export type RefusalReason =
  | JwtRefusal
  | 'missing_credentials'
  | 'unknown_key'
  | 'not_admin'
  | 'jwks_unavailable'
  | 'audit_unavailable';
