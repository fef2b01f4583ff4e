import { type Principal } from '@smg/plugin-api';
import { parseBearer } from './bearer';
import { type JwtOutcome } from './jwt-verifier';
import { isToken } from './jwt-token';
import { type KeyHolder } from './key-set';
import { JWT_REFUSALS, type RefusalReason } from './refusal-reasons';

/** A refusal by the control plane. */
export interface ControlRefusal {
  readonly allowed: false;
  readonly status: 401 | 403 | 503;
  /** Plain text body. */
  readonly message: string;
  readonly reason: RefusalReason;
  readonly principal: Principal;
}

/** Decision about a request to the control plane. */
export type ControlDecision =
  { readonly allowed: true; readonly principal: Principal } | ControlRefusal;

/** What opens the control plane (SMG contract 8.2). */
export type ControlMode =
  /** Tokens, control-plane keys or both; serving keys do not. */
  | 'guarded'
  /** `--api-key`. */
  | 'shared'
  /** Tenant keys stand alone: nothing does. */
  | 'closed'
  | 'open';

const NOBODY: Principal = Object.freeze({ id: 'unauthenticated', method: 'none', role: 'user' });
const ANYBODY: ControlDecision = Object.freeze({
  allowed: true,
  principal: Object.freeze({ id: 'anonymous', method: 'none', role: 'admin' }),
});
const SHARED: ControlDecision = Object.freeze({
  allowed: true,
  principal: Object.freeze({ id: 'shared', method: 'api_key', role: 'admin' }),
});

function refusal(
  status: ControlRefusal['status'],
  message: string,
  reason: RefusalReason,
  principal = NOBODY,
): ControlRefusal {
  return Object.freeze({ allowed: false, status, message, reason, principal });
}

const MISSING = refusal(401, 'Missing or invalid Authorization header', 'missing_credentials');
const UNKNOWN = refusal(401, 'Invalid authentication token', 'unknown_key');
const KEYS_UNAVAILABLE = refusal(503, 'Token keys unavailable', 'jwks_unavailable');
const BAD_TOKENS = new Map(
  Object.entries(JWT_REFUSALS).map(([reason, text]) => [
    reason,
    refusal(401, `Invalid JWT: ${text}`, reason as RefusalReason),
  ]),
);

/** Judges what has three dot-separated parts. */
export interface TokenJudge {
  verify(token: string): JwtOutcome | Promise<JwtOutcome>;
}

/** Decides on control-plane requests. Synchronous unless a token must be verified. */
export class ControlPlaneAuth {
  constructor(
    private readonly keys: KeyHolder,
    private readonly tokens?: TokenJudge,
  ) {}

  get mode(): ControlMode {
    const { serving, control, hasShared } = this.keys.current;
    if (this.tokens !== undefined || control.size > 0) return 'guarded';
    if (hasShared) return 'shared';
    return serving.size > 0 ? 'closed' : 'open';
  }

  /** Somebody can be an administrator, or need not be one. */
  get canAdmit(): boolean {
    const { mode } = this;
    if (mode === 'guarded') return this.tokens !== undefined || this.keys.current.hasAdminKey;
    return mode !== 'closed';
  }

  decide(authorization: string | undefined): ControlDecision | Promise<ControlDecision> {
    const { mode } = this;
    if (mode === 'open') return ANYBODY;
    const token = parseBearer(authorization);
    if (token === undefined) return MISSING;
    if (mode !== 'guarded') {
      // A tenant's key is known and still not enough: the answer does not tell the two apart.
      return this.keys.current.serving.find(token)?.kind === 'shared' ? SHARED : UNKNOWN;
    }
    if (this.tokens === undefined || !isToken(token)) {
      const principal = this.keys.current.control.find(token);
      return principal === undefined ? UNKNOWN : admit(principal);
    }
    const outcome = this.tokens.verify(token);
    return outcome instanceof Promise ? outcome.then(decisionOf) : decisionOf(outcome);
  }
}

function decisionOf(outcome: JwtOutcome): ControlDecision {
  if (typeof outcome === 'object') return admit(outcome);
  return BAD_TOKENS.get(outcome) ?? KEYS_UNAVAILABLE;
}

/** Role `user` may call nothing here, reading included (decision 22). */
function admit(principal: Principal): ControlDecision {
  if (principal.role === 'admin') return { allowed: true, principal };
  return refusal(403, 'Admin role required for control plane access', 'not_admin', principal);
}
