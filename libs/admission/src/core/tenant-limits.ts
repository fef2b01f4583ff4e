/** What one limit counts. */
export type LimitUnit = 'requests' | 'tokens';

/** Which models a rule is about. */
export interface ModelMatcher {
  readonly type: 'exact' | 'prefix';
  readonly value: string;
}

/** One budget of a policy. */
export interface Limit {
  readonly unit: LimitUnit;
  /** 0 to 2^32 - 1; 0 allows nothing. */
  readonly perMinute: number;
  /** The model rule it belongs to; undefined for every model together. */
  readonly ruleId: string | undefined;
  readonly matcher: ModelMatcher | undefined;
}

/** Every budget of a tenant; a request needs room in each one that is about its model. */
export interface TenantPolicy {
  readonly limits: readonly Limit[];
}

/** What a file of limits says. */
export class TenantLimits {
  constructor(
    readonly defaultPolicy: TenantPolicy | undefined,
    private readonly tenants: ReadonlyMap<string, TenantPolicy>,
  ) {}

  /** A tenant's own policy, which replaces the default as a whole; undefined when nothing limits it. */
  policyOf(tenant: string): TenantPolicy | undefined {
    return this.tenants.get(tenant) ?? this.defaultPolicy;
  }

  /** Whether the tenant has a policy of its own. */
  names(tenant: string): boolean {
    return this.tenants.has(tenant);
  }

  /** Tenants with a policy of their own. */
  get count(): number {
    return this.tenants.size;
  }
}

export function appliesTo({ matcher }: Limit, model: string): boolean {
  if (matcher === undefined) return true;
  return matcher.type === 'exact' ? model === matcher.value : model.startsWith(matcher.value);
}

/** Whether a bucket of one limit may serve the other. */
export function isSameLimit(a: Limit, b: Limit): boolean {
  return (
    a.unit === b.unit &&
    a.perMinute === b.perMinute &&
    a.ruleId === b.ruleId &&
    a.matcher?.type === b.matcher?.type &&
    a.matcher?.value === b.matcher?.value
  );
}
