/** Label of every tenant beyond the limit. */
const OTHER = 'other';

/** `auth:` and the SHA-256 of the shared key: whoever reads metrics must not be able to guess at it. */
const SHARED_KEY = /^auth:[0-9a-f]{64}$/;
/** Addresses and header values are the client's choice: one label for all of a kind. */
const CHOSEN_BY_CLIENTS = /^(ip|header):/;

/**
 * Names tenants in metrics, which anyone may read and of which there must not be as many as clients
 * can make up: tenants of keys by their id, the first ones that occur; the rest share a name.
 */
export class TenantLabels {
  private readonly named = new Set<string>();

  constructor(private readonly limit: number) {}

  of(tenant: string): string {
    if (SHARED_KEY.test(tenant)) return 'shared';
    const kind = CHOSEN_BY_CLIENTS.exec(tenant)?.[1];
    if (kind !== undefined) return kind;
    if (this.named.has(tenant)) return tenant;
    if (this.named.size >= this.limit) return OTHER;
    this.named.add(tenant);
    return tenant;
  }
}
