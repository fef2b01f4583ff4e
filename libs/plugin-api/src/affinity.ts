/** What routing remembers of conversations. Token: {@link AFFINITY}. */
export interface Affinity {
  /** A conversation is over: its key is nobody's any more. A key that is not known is no mistake. */
  forget(key: string): void;
}

/** Service token of {@link Affinity}; provided globally by ProxyModule. */
export const AFFINITY = 'smg:affinity';
