import dns, { type LookupAddress } from 'node:dns';
import { isIPv6 } from 'node:net';

/** Stands in for the system's resolver in this process; other names are resolved as ever. */
export class FakeDns {
  private readonly names = new Map<string, readonly string[]>();
  private readonly spy: jest.SpyInstance;

  constructor() {
    const real = dns.lookup as unknown as (...given: unknown[]) => void;
    this.spy = jest.spyOn(dns, 'lookup').mockImplementation(((
      name: string,
      options: object,
      callback: (error: Error | null, found: readonly LookupAddress[]) => void,
    ) => {
      const addresses = this.names.get(name);
      if (addresses === undefined) {
        real(name, options, callback);
        return;
      }
      process.nextTick(
        callback,
        null,
        addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
      );
    }) as unknown as typeof dns.lookup);
  }

  /** From now on, `name` has these addresses. */
  set(name: string, ...addresses: string[]): void {
    this.names.set(name, addresses);
  }

  restore(): void {
    this.spy.mockRestore();
  }
}
