import { type IncomingMessage } from 'node:http';

/** Who makes a control-plane call, once that is known. */
export interface Principal {
  /**
   * `sub` (or `email`, `preferred_username`) of a token, the id of a control-plane key, `shared` for
   * `--api-key`, `anonymous` where nothing is configured. Chosen by an issuer: escape before printing.
   */
  readonly id: string;
  readonly method: 'jwt' | 'api_key' | 'none';
  readonly role: 'admin' | 'user';
}

/** A string key, so that it survives two copies of the package. */
const PRINCIPAL = Symbol.for('smg:principal');

type Carrier = IncomingMessage & { [PRINCIPAL]?: Principal };

/** Set once the control plane's credentials are accepted; undefined on other planes. */
export function principalOf(request: IncomingMessage): Principal | undefined {
  return (request as Carrier)[PRINCIPAL];
}

/** For the part of the gateway that authenticates. */
export function attachPrincipal(request: IncomingMessage, principal: Principal): void {
  (request as Carrier)[PRINCIPAL] = principal;
}
