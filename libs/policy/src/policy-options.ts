import { type RoutingPolicyParameters } from '@smg/plugin-api';

/** The slice of the configuration that selection needs. */
export interface PolicyOptions {
  /** Name of the default policy, ours or a plug-in's. */
  readonly policy: string;
  /** Policy of prefill workers; undefined: as `policy`. */
  readonly prefillPolicy?: string | undefined;
  /** Policy of decode workers; undefined: as `policy`. */
  readonly decodePolicy?: string | undefined;
  /** `--routing-key-override`: a key stays with its worker whatever the policy. Default false. */
  readonly stickyKeys?: boolean;
  /**
   * Request header whose `key=value` pairs a worker's labels must hold. Blank or undefined: the
   * label filter is not registered.
   */
  readonly workerFilterHeader?: string | undefined;
  /** Names of candidate filters that must be registered; one that is missing stops the start. */
  readonly requireFilters: readonly string[];
  /** Parameters of the policies named here. */
  readonly parameters: RoutingPolicyParameters;
}

/** Service token of the {@link PolicyOptions}. */
export const POLICY_OPTIONS = 'smg:policy-options';

/** Token of the sticky sessions, undefined without `stickyKeys`; of this module alone. */
export const STICKY_KEYS = 'smg:sticky-keys';
