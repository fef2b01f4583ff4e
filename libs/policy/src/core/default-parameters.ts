import { type RoutingPolicyParameters } from '@smg/plugin-api';

/**
 * Parameters of a policy that a worker's `policy` label asks for when it is not the default policy:
 * the command line then speaks of another one.
 */
export const DEFAULT_POLICY_PARAMETERS: RoutingPolicyParameters = Object.freeze({
  cacheThreshold: 0.3,
  balanceAbsThreshold: 64,
  balanceRelThreshold: 1.5,
  evictionIntervalSecs: 120,
  maxTreeSize: 67_108_864,
  random: Math.random,
});
