/** A connection that is not made because of where it leads. Not a fault of the network: never temporary. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ERR_WORKER_ADDRESS_REFUSED';
}
