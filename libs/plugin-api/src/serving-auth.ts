/** Decision about a request to the serving plane. */
export type ServingDecision =
  | {
      readonly allowed: true;
      /** Keys are configured, so the client's Authorization is consumed and never forwarded. */
      readonly consumesAuthorization: boolean;
      /** `auth:<tenant id>` of a tenant's key, `auth:<SHA-256 in hex>` of the shared one. */
      readonly tenant?: string | undefined;
    }
  | { readonly allowed: false; readonly message: string };

/** Decides from the Authorization header; synchronous, no I/O. Token: {@link SERVING_AUTH}. */
export interface ServingAuth {
  decide(authorization: string | undefined): ServingDecision;
  /** The request was refused because of this decision: the place to count. */
  noteRefusal?(decision: ServingDecision): void;
}

/** Service token of {@link ServingAuth}; provided globally by AuthModule. */
export const SERVING_AUTH = 'smg:serving-auth';
