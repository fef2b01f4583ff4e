/** What is known of a data-plane request when its credentials have been accepted. */
export interface AdmissionRequest {
  /** `auth:…` of the key that opened the serving plane; undefined where it is open. */
  readonly authenticatedTenant: string | undefined;
  /** Address of the client's socket. */
  readonly peer: string | undefined;
  /** @param name lower case. */
  header(name: string): string | undefined;
}

/** A request that asks for its share of a tenant's budget. */
export interface TenantCharge {
  readonly tenant: string;
  /** Canonical model name. */
  readonly model: string;
  /** Tokens the request may use: an estimate of its prompt plus what it may generate. An integer. */
  readonly tokens: number;
}

/** Whether a tenant's budget allows a request. */
export type ChargeOutcome =
  | {
      readonly allowed: true;
      /** Corrects the estimate once the engine has reported its usage. This or `refund`, once. */
      settle(tokens: number): void;
      /** Gives everything back: no engine has worked on the request. */
      refund(): void;
    }
  | {
      readonly allowed: false;
      readonly message: string;
      /** Seconds until enough budget is there; undefined when the request can never fit. */
      readonly retryAfterSecs: number | undefined;
    };

/** Decides what may enter the data plane. Optional token: {@link ADMISSION}. */
export interface Admission {
  /** Who is charged: `auth:<tenant>`, `header:<value>`, `ip:<address>` or `anonymous`. */
  tenantOf(request: AdmissionRequest): string;
  /** Takes the budget when there is enough. Synchronous, no I/O. */
  charge(request: TenantCharge): ChargeOutcome;
}

/** Service token of {@link Admission}; there is a provider only while something limits requests. */
export const ADMISSION = 'smg:admission';
