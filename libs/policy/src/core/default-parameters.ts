import { type RoutingPolicyParameters, type WorkerLoads } from '@smg/plugin-api';

/** No engine has reported anything: what selection knows then is requests in flight. */
export const NO_LOADS: WorkerLoads = Object.freeze({ reportOf: () => undefined });

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
  balanceTokenUsageThreshold: 1,
  overloadTokenUsageThreshold: 1,
  overlapDecay: 0,
  selectionTemperature: 0,
  blockSize: 16,
  cacheIndex: 'tree',
  cacheBoundaries: Object.freeze([]),
  cacheTtlSecs: 180,
  maxIdleSecs: 14_400,
  assignmentMode: undefined,
  prefixTokenCount: 256,
  prefixHashLoadFactor: 1.25,
  prefixHashBalanceAbsThreshold: 10,
  leastLoad: Object.freeze({
    kvPressureWeight: 0.15,
    defaultThroughput: 2000,
    meanPrefillTokens: 1024,
    maxWaitingRequests: 0,
  }),
  bucketAdjustIntervalSecs: 5,
  loads: NO_LOADS,
  random: Math.random,
});
