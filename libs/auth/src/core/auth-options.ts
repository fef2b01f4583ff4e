/** One `--tenant-api-key`. */
export interface TenantKey {
  readonly tenantId: string;
  readonly key: string;
}

/** One `--control-plane-api-keys`. */
export interface ControlPlaneKey {
  /** Becomes the principal's id. */
  readonly id: string;
  readonly name: string;
  readonly role: 'admin' | 'user';
  readonly key: string;
}

/** What a role of the issuer means here. */
export interface RoleMapping {
  readonly idpRole: string;
  readonly role: 'admin' | 'user';
}

/** Tokens that open the control plane. */
export interface JwtOptions {
  /** Compared with `iss` by its characters. */
  readonly issuer: string;
  readonly audience: string;
  /** Discovered from the issuer when left out. */
  readonly jwksUri?: string | undefined;
  /** Dots lead into nested objects, unless a claim is literally named so. */
  readonly roleClaim: string;
  readonly roleMapping: readonly RoleMapping[];
}

/** What AuthModule is configured with. */
export interface AuthOptions {
  /** `--api-key`: opens the serving plane and, as long as nothing guards it better, the control plane. */
  readonly apiKey?: string | undefined;
  /** `--api-key-file`: holds the shared key instead. */
  readonly apiKeyFile?: string | undefined;
  /** `--tenant-api-key`, repeatable: each opens the serving plane only. */
  readonly tenantApiKeys?: readonly TenantKey[] | undefined;
  /** `--tenant-api-keys-file`: more of them. */
  readonly tenantApiKeysFile?: string | undefined;
  /** `--control-plane-api-keys`: with one, or with `jwt`, serving keys no longer open the control plane. */
  readonly controlPlaneApiKeys?: readonly ControlPlaneKey[] | undefined;
  /** `--control-plane-api-keys-file`: more of them. */
  readonly controlPlaneApiKeysFile?: string | undefined;
  readonly jwt?: JwtOptions | undefined;
}
