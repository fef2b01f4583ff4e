import { type ServingAuth, type ServingDecision } from '@smg/plugin-api';
import { type AuthOptions, validateAuthOptions } from './auth-options';
import { KeyRing, type KeyOwner } from './api-key';
import { parseBearer } from './bearer';

/**
 * Who may call what (SMG contract, "Authentication"):
 * - serving plane: the shared key or a tenant's; open when none is configured;
 * - control plane: the shared key; with tenant keys alone nobody; open when nothing is configured.
 */

/** Decision about a request to the control plane. */
export type ControlDecision =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly status: 401 | 403;
      /** Plain text body. */
      readonly message: string;
    };

const SHARED: KeyOwner = { kind: 'shared', tenant: '' };
const ALLOWED: ControlDecision = { allowed: true };
const MISSING: ControlDecision = {
  allowed: false,
  status: 401,
  message: 'Missing or invalid Authorization header',
};
const UNKNOWN: ControlDecision = {
  allowed: false,
  status: 401,
  message: 'Invalid authentication token',
};

function ringOf(options: AuthOptions): KeyRing {
  validateAuthOptions(options);
  const ring = new KeyRing();
  if (options.apiKey !== undefined) ring.add(options.apiKey, SHARED);
  for (const { tenantId, key } of options.tenantApiKeys ?? []) {
    ring.add(key, { kind: 'tenant', tenant: tenantId });
  }
  return ring;
}

const SERVING_OPEN: ServingDecision = { allowed: true, consumesAuthorization: false };
const SERVING_ALLOWED: ServingDecision = { allowed: true, consumesAuthorization: true };
const SERVING_MISSING: ServingDecision = {
  allowed: false,
  message: 'Missing API key. Send it as: Authorization: Bearer <key>',
};
const SERVING_UNKNOWN: ServingDecision = { allowed: false, message: 'Invalid API key' };

/** Decides on serving requests. */
export class ServingKeyAuth implements ServingAuth {
  private readonly ring: KeyRing;

  /** @throws Error when the keys are unusable. */
  constructor(options: AuthOptions) {
    this.ring = ringOf(options);
  }

  /** No key is configured. */
  get isOpen(): boolean {
    return this.ring.size === 0;
  }

  decide(authorization: string | undefined): ServingDecision {
    if (this.ring.size === 0) return SERVING_OPEN;
    const token = parseBearer(authorization);
    if (token === undefined) return SERVING_MISSING;
    return this.ring.find(token) === undefined ? SERVING_UNKNOWN : SERVING_ALLOWED;
  }
}

/** Decides on control-plane requests. */
export class ControlPlaneAuth {
  private readonly ring: KeyRing;
  /** Some credential opens the control plane, or none is needed. */
  readonly canAdmit: boolean;

  /** @throws Error when the keys are unusable. */
  constructor(options: AuthOptions) {
    this.ring = ringOf(options);
    this.canAdmit = this.ring.size === 0 || options.apiKey !== undefined;
  }

  /** Nothing is configured. */
  get isOpen(): boolean {
    return this.ring.size === 0;
  }

  decide(authorization: string | undefined): ControlDecision {
    if (this.ring.size === 0) return ALLOWED;
    const token = parseBearer(authorization);
    if (token === undefined) return MISSING;
    // A tenant's key is known and still not enough: the answer does not tell the two apart.
    return this.ring.find(token)?.kind === 'shared' ? ALLOWED : UNKNOWN;
  }
}
