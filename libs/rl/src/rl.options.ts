/** What the RL control plane is told. */
export interface RlOptions {
  /** Seconds, >= 1: total deadline of one engine call. */
  readonly controlTimeoutSecs: number;
  /** >= 1: engine calls in flight within one fan-out. */
  readonly fanoutConcurrency: number;
  /** Policy of requests that bring none: `any`, `latest-only`, `min-version:<v>`, `max-staleness:<k>`. */
  readonly versionPolicy: string;
}

/** Token of the {@link RlOptions}. */
export const RL_OPTIONS = 'smg:rl-options';
