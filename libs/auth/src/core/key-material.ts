import { type AuthOptions, type ControlPlaneKey, type TenantKey } from './auth-options';

/** Where an entry stands, for messages; never any of a line's text. */
export interface KeySource {
  /** Option, or file and line. */
  readonly where: string;
  /** Names the owner: `tenant "a"` for an option, `this line` for a file. */
  readonly whose: string;
}

/** Every configured key with its source; exists only while a key set is built. */
export interface KeyMaterial {
  readonly shared: readonly (KeySource & { readonly key: string })[];
  readonly tenants: readonly (KeySource & TenantKey)[];
  readonly control: readonly (KeySource & ControlPlaneKey)[];
}

/** The keys that were given as options. */
export function flagMaterial(options: AuthOptions): KeyMaterial {
  const { apiKey, tenantApiKeys = [], controlPlaneApiKeys = [] } = options;
  return {
    shared: apiKey === undefined ? [] : [{ key: apiKey, where: '--api-key', whose: '' }],
    tenants: tenantApiKeys.map((entry) => ({
      ...entry,
      where: '--tenant-api-key',
      whose: `tenant ${JSON.stringify(entry.tenantId)}`,
    })),
    control: controlPlaneApiKeys.map((entry) => ({
      ...entry,
      where: '--control-plane-api-keys',
      whose: `id ${JSON.stringify(entry.id)}`,
    })),
  };
}

const isPadded = (text: string): boolean => text.trim() !== text;

/** What reads as a token is never looked up among the keys. */
export function looksLikeToken(text: string): boolean {
  const first = text.indexOf('.');
  const second = first < 0 ? -1 : text.indexOf('.', first + 1);
  return second >= 0 && !text.includes('.', second + 1);
}

function checkKey(key: string, { where, whose }: KeySource): void {
  const subject = whose === '' ? 'the key' : `the key of ${whose}`;
  if (key === '') throw new Error(`${where}: ${subject} is empty`);
  if (isPadded(key)) throw new Error(`${where}: ${subject} starts or ends with a space`);
}

function checkOwner(owner: string, kind: string, { where }: KeySource): void {
  if (owner === '') throw new Error(`${where}: the ${kind} is empty`);
  if (isPadded(owner)) throw new Error(`${where}: the ${kind} starts or ends with a space`);
}

/** Claims names and keys; the second owner of one is a mistake. */
class Claims {
  private readonly keys = new Set<string>();

  claimKey(key: string, { where, whose }: KeySource): void {
    if (this.keys.has(key)) {
      throw new Error(`${where}: the key of ${whose || 'this entry'} is already in use`);
    }
    this.keys.add(key);
  }

  static owners(): (owner: string, source: KeySource) => void {
    const owners = new Set<string>();
    return (owner, { where, whose }) => {
      if (owners.has(owner)) throw new Error(`${where}: ${whose} is given twice`);
      owners.add(owner);
    };
  }
}

/**
 * Refuses keys that could not work or would be ambiguous, wherever they came from.
 * @param hasTokens whether tokens are configured too.
 * @throws Error that names the source of the bad entry.
 */
export function validateMaterial(material: KeyMaterial, hasTokens: boolean): void {
  const claims = new Claims();
  for (const entry of material.shared) {
    checkKey(entry.key, entry);
    claims.claimKey(entry.key, entry);
  }
  if (material.shared.length > 1) {
    throw new Error(`${material.shared[1]?.where ?? ''}: the key is given by --api-key as well`);
  }
  const claimTenant = Claims.owners();
  for (const entry of material.tenants) {
    checkOwner(entry.tenantId, 'tenant id', entry);
    checkKey(entry.key, entry);
    claimTenant(entry.tenantId, entry);
    claims.claimKey(entry.key, entry);
  }
  const claimId = Claims.owners();
  for (const entry of material.control) {
    checkOwner(entry.id, 'id', entry);
    checkKey(entry.key, entry);
    if (hasTokens && looksLikeToken(entry.key)) {
      throw new Error(
        `${entry.where}: the key of ${entry.whose} has two dots and would be read as a token; use another one beside --jwt-issuer`,
      );
    }
    claimId(entry.id, entry);
    claims.claimKey(entry.key, entry);
  }
}
