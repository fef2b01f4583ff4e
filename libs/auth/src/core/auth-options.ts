/** One `--tenant-api-key`. */
export interface TenantKey {
  readonly tenantId: string;
  readonly key: string;
}

/** What AuthModule is configured with. */
export interface AuthOptions {
  /** `--api-key`: opens the serving plane and, as long as nothing guards it better, the control plane. */
  readonly apiKey?: string | undefined;
  /** `--tenant-api-key`, repeatable: each opens the serving plane only. */
  readonly tenantApiKeys?: readonly TenantKey[] | undefined;
}

const isPadded = (text: string): boolean => text.trim() !== text;

/**
 * Refuses keys that could not work or would be ambiguous.
 * @throws Error naming the option and, at most, the tenant id.
 */
export function validateAuthOptions(options: AuthOptions): void {
  const keys = new Set<string>();
  const tenants = new Set<string>();
  if (options.apiKey !== undefined) {
    if (options.apiKey === '') throw new Error('--api-key: the key is empty');
    if (isPadded(options.apiKey)) throw new Error('--api-key: the key starts or ends with a space');
    keys.add(options.apiKey);
  }
  for (const { tenantId, key } of options.tenantApiKeys ?? []) {
    if (tenantId === '') throw new Error('--tenant-api-key: the tenant id is empty');
    if (isPadded(tenantId)) {
      throw new Error('--tenant-api-key: the tenant id starts or ends with a space');
    }
    const name = JSON.stringify(tenantId);
    if (key === '') throw new Error(`--tenant-api-key: the key of tenant ${name} is empty`);
    if (isPadded(key)) {
      throw new Error(`--tenant-api-key: the key of tenant ${name} starts or ends with a space`);
    }
    if (tenants.has(tenantId)) throw new Error(`--tenant-api-key: tenant ${name} is given twice`);
    if (keys.has(key)) {
      throw new Error(`--tenant-api-key: the key of tenant ${name} is already in use`);
    }
    tenants.add(tenantId);
    keys.add(key);
  }
}
