import { renderServingUnauthorized } from '@smg/protocol';
import { type ServingDecision } from '@smg/plugin-api';
import { type ControlRefusal } from './control-plane-auth';

/** A refusal, ready to be written. */
export interface PlaneRejection {
  readonly allowed: false;
  readonly status: 401 | 403 | 503;
  readonly contentType: string;
  /** Value of `WWW-Authenticate`; only a 401 has one. */
  readonly challenge: string | undefined;
  /** Value of `x-smg-error-code`; only a 503 has one. */
  readonly errorCode: 'jwks_unavailable' | 'audit_unavailable' | undefined;
  readonly body: string;
}

/** Whether a request may go on. */
export type PlaneDecision = { readonly allowed: true } | PlaneRejection;

export const ALLOWED: PlaneDecision = Object.freeze({ allowed: true });

const PLAIN = 'text/plain; charset=utf-8';

/** The data plane's refusal: JSON an OpenAI client understands (decision 20). */
export function servingRejection({
  message,
}: Extract<ServingDecision, { allowed: false }>): PlaneRejection {
  return {
    allowed: false,
    status: 401,
    contentType: 'application/json',
    challenge: 'Bearer',
    errorCode: undefined,
    body: renderServingUnauthorized(message),
  };
}

/** The control plane's refusal: plain text, which SMG's clients read. */
export function controlRejection({ status, message }: ControlRefusal): PlaneRejection {
  return {
    allowed: false,
    status,
    contentType: PLAIN,
    challenge: status === 401 ? 'Bearer realm="control-plane"' : undefined,
    errorCode: status === 503 ? 'jwks_unavailable' : undefined,
    body: message,
  };
}

/** The decision was yes and could not be recorded where a record is demanded. */
export const UNRECORDED: PlaneRejection = Object.freeze({
  allowed: false,
  status: 503,
  contentType: PLAIN,
  challenge: undefined,
  errorCode: 'audit_unavailable',
  body: 'Audit log unavailable',
});
