/** How requests find a pair of workers; left out: there are no pairs. */
export interface PdOptions {
  /** `only`: every request goes to a pair. `beside`: to a pair or to a regular worker (IGW). */
  readonly mode: 'only' | 'beside';
  /** `--dp-minimum-tokens-scheduler`: the rank with the fewest tokens. */
  readonly minimumTokens: boolean;
}
