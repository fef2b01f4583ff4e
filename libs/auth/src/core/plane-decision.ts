import { renderServingUnauthorized } from '@smg/protocol';
import { type Plane, type ServingAuth } from '@smg/plugin-api';
import { type ControlDecision } from './auth-policy';

/** A refusal, ready to be written. */
export interface PlaneRejection {
  readonly allowed: false;
  readonly status: 401 | 403;
  readonly contentType: string;
  /** Value of `WWW-Authenticate`; absent for a 403. */
  readonly challenge: string | undefined;
  readonly body: string;
}

/** Whether a request may go on. */
export type PlaneDecision = { readonly allowed: true } | PlaneRejection;

const ALLOWED: PlaneDecision = { allowed: true };

/** The one place where a plane, the keys and a header become an answer. */
export function decidePlane(
  plane: Plane,
  authorization: string | undefined,
  serving: ServingAuth,
  control: { decide(authorization: string | undefined): ControlDecision },
): PlaneDecision {
  if (plane === 'public') return ALLOWED;
  if (plane === 'data') {
    const decision = serving.decide(authorization);
    if (decision.allowed) return ALLOWED;
    return {
      allowed: false,
      status: 401,
      contentType: 'application/json',
      challenge: 'Bearer',
      body: renderServingUnauthorized(decision.message),
    };
  }
  const decision = control.decide(authorization);
  if (decision.allowed) return ALLOWED;
  return {
    allowed: false,
    status: decision.status,
    contentType: 'text/plain; charset=utf-8',
    challenge: decision.status === 401 ? 'Bearer realm="control-plane"' : undefined,
    body: decision.message,
  };
}
