/** Label of every tenant beyond the limit. */
const OTHER = 'other';

/**
 * Names tenants in metrics, of which there must not be as many as clients can make up: the first ones
 * have a name of their own, the rest share one.
 */
export class TenantLabels {
  private readonly named = new Set<string>();

  constructor(private readonly limit: number) {}

  of(tenant: string): string {
    if (this.named.has(tenant)) return tenant;
    if (this.named.size >= this.limit) return OTHER;
    this.named.add(tenant);
    return tenant;
  }
}
