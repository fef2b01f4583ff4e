import { defineExtensionPoint } from './extension-point';
import { type SelectionContext } from './selection';
import { type WorkerView } from './worker-view';

/**
 * Chooses one of the candidates that the filters left. One instance serves one model, or all models
 * that share the default. Synchronous; no allocation is expected per call.
 */
export interface RoutingPolicy {
  /** Name as given to `--policy`. */
  readonly name: string;
  /** True: `x-smg-target-worker` is honoured before this policy is asked. */
  readonly honoursTargetWorker?: boolean;
  /**
   * Picks a worker out of `candidates` (never empty), or undefined to decline, which answers 503.
   * Returning anything else fails the request with `policy_failed`.
   */
  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined;
  /** A worker of a model this policy serves appeared (also for those present at creation). */
  addWorker?(worker: WorkerView): void;
  /** A worker left: forget everything about it. */
  removeWorker?(worker: WorkerView): void;
  /** The worker's KV cache is gone (new weights): forget its prefixes, keep its load scores. */
  resetWorker?(worker: WorkerView): void;
  /** Release timers; the instance is not used again. */
  dispose?(): void;
}

/** Parameters of the built-in policies, from the command line. A plug-in policy may ignore them. */
export interface RoutingPolicyParameters {
  /** 0..1: share of the prompt that must match before a cache hit counts. */
  readonly cacheThreshold: number;
  /** Requests: both balance margins must be exceeded before a hit spills. */
  readonly balanceAbsThreshold: number;
  /** Ratio >= 1. */
  readonly balanceRelThreshold: number;
  /** Seconds between evictions. */
  readonly evictionIntervalSecs: number;
  /** Characters (text tree), summed over workers. */
  readonly maxTreeSize: number;
  /** Seconds after which a prefix that nobody used is forgotten; undefined: only size evicts. */
  readonly maxPrefixIdleSecs?: number | undefined;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Makes instances of one kind of policy. */
export interface RoutingPolicyFactory {
  /** Unique; the value of `--policy` and of a worker's `policy` label. */
  readonly name: string;
  create(parameters: RoutingPolicyParameters): RoutingPolicy;
}

/** Register a {@link RoutingPolicyFactory}. */
export const ROUTING_POLICY = defineExtensionPoint<RoutingPolicyFactory>('smg:routing-policy');
