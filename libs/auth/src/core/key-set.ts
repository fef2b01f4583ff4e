import { createHash } from 'node:crypto';
import { type Principal, type ServingDecision } from '@smg/plugin-api';
import { KeyRing } from './api-key';
import { type AuthOptions } from './auth-options';
import { flagMaterial, type KeyMaterial, validateMaterial } from './key-material';

/** What a serving key stands for. */
export interface ServingOwner {
  readonly kind: 'shared' | 'tenant';
  /** Made once: a request costs no allocation. */
  readonly decision: ServingDecision;
}

/** All keys of one moment; replaced as a whole. */
export interface KeySet {
  readonly serving: KeyRing<ServingOwner>;
  readonly control: KeyRing<Principal>;
  readonly hasShared: boolean;
  /** Some control-plane key has the role admin. */
  readonly hasAdminKey: boolean;
}

const servingOwner = (kind: 'shared' | 'tenant', tenant: string): ServingOwner => ({
  kind,
  decision: Object.freeze({ allowed: true, consumesAuthorization: true, tenant }),
});

/** @throws Error when the keys are unusable; it names the source, never the key. */
export function buildKeySet(material: KeyMaterial, hasTokens: boolean): KeySet {
  validateMaterial(material, hasTokens);
  const serving = new KeyRing<ServingOwner>();
  for (const { key } of material.shared) {
    const hex = createHash('sha256').update(key, 'utf8').digest('hex');
    serving.add(key, servingOwner('shared', `auth:${hex}`));
  }
  for (const { tenantId, key } of material.tenants) {
    serving.add(key, servingOwner('tenant', `auth:${tenantId}`));
  }
  const control = new KeyRing<Principal>();
  for (const { id, role, key } of material.control) {
    control.add(key, Object.freeze({ id, method: 'api_key', role }));
  }
  return Object.freeze({
    serving,
    control,
    hasShared: material.shared.length > 0,
    hasAdminKey: material.control.some(({ role }) => role === 'admin'),
  });
}

/** The keys in force. */
export class KeyHolder {
  constructor(public current: KeySet) {}

  /** Holds the keys that were given as options; files are not read. */
  static of(options: AuthOptions): KeyHolder {
    return new KeyHolder(buildKeySet(flagMaterial(options), options.jwt !== undefined));
  }
}
