/** Where workers may be. Token: {@link WORKER_ADDRESSES}. */
export interface WorkerAddresses {
  /**
   * Judges a URL whose host is an IP address in any spelling; names are not resolved.
   * @returns why the address is refused, or undefined.
   */
  refusalOf(url: string): string | undefined;
  /**
   * The same with names resolved: refused as soon as one of their addresses is.
   * A name that does not resolve is not refused here; connecting will fail and say so.
   */
  check(url: string): Promise<string | undefined>;
}

/** Service token of {@link WorkerAddresses}; provided globally by UpstreamModule. */
export const WORKER_ADDRESSES = 'smg:worker-addresses';
