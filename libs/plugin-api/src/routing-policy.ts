import { defineExtensionPoint } from './extension-point';
import { type SelectionContext } from './selection';
import { type WorkerLoads } from './worker-loads';
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
  /** True: it keeps keys to workers itself, so `--routing-key-override` leaves it alone. */
  readonly ownsAffinity?: boolean;
  /**
   * False: it never asks for text or token ids, so that a large body need not be read before a worker is
   * chosen. Left out: bodies are read.
   */
  readonly readsBody?: boolean;
  /**
   * Picks a worker out of `candidates` (never empty), or undefined to decline, which answers 503.
   * Returning anything else fails the request with `policy_failed`.
   */
  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined;
  /** The target-worker header was honoured, or refused, in place of asking `select`; for counting. */
  onTargetWorker?(isServed: boolean): void;
  /** No worker was available, so `select` is not asked; for counting. */
  onNobody?(): void;
  /** A worker of a model this policy serves appeared (also for those present at creation). */
  addWorker?(worker: WorkerView): void;
  /** A worker left: forget everything about it. */
  removeWorker?(worker: WorkerView): void;
  /** A conversation is over: the worker its key was kept to is forgotten. */
  forgetKey?(key: string): void;
  /** The worker's KV cache is gone (new weights): forget its prefixes, keep its load scores. */
  resetWorker?(worker: WorkerView): void;
  /** Release timers; the instance is not used again. */
  dispose?(): void;
}

/** How a key without a worker gets one. `delegate`: by the routing policy, where there is another. */
export type AssignmentMode = 'random' | 'min_load' | 'min_group' | 'delegate';

/** How `least_load` turns a load report into seconds of waiting. */
export interface LeastLoadParameters {
  /** >= 0: weight of `k / (1 - k)`, `k` being KV-cache use. */
  readonly kvPressureWeight: number;
  /** Tokens per second of a worker that reports none, > 0. */
  readonly defaultThroughput: number;
  /** Prompt tokens of a request whose length nobody knows, > 0. */
  readonly meanPrefillTokens: number;
  /** Waiting requests from which a worker gets no more; 0: no limit. */
  readonly maxWaitingRequests: number;
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
  /** Characters (text tree) or tokens (token tree), summed over workers; of each tree. */
  readonly maxTreeSize: number;
  /** Spread of KV-cache use, 0..1, above which load alone decides; >= 1: never. */
  readonly balanceTokenUsageThreshold: number;
  /** KV-cache use of any worker, 0..1, above which load alone decides; >= 1: never. */
  readonly overloadTokenUsageThreshold: number;
  /** >= 0: how fast a cached prefix loses worth with the tokens that wait before it; 0: not. */
  readonly overlapDecay: number;
  /** >= 0: 0 always takes the best holder, larger is closer to a uniform draw. */
  readonly selectionTemperature: number;
  /** Tokens per page of the token tree, > 0. */
  readonly blockSize: number;
  readonly cacheIndex: 'tree' | 'hash';
  /** Token counts at which prefixes are hashed, ascending. */
  readonly cacheBoundaries: readonly number[];
  /** Seconds an entry of the hash index lives without use. */
  readonly cacheTtlSecs: number;
  /** Seconds after which a key nobody used is forgotten. */
  readonly maxIdleSecs: number;
  /** Undefined: each user's own default. */
  readonly assignmentMode: AssignmentMode | undefined;
  /** Tokens that prefix_hash hashes where no boundary applies, > 0. */
  readonly prefixTokenCount: number;
  /** >= 1: load, relative to the mean, up to which prefix_hash keeps a prefix where it is. */
  readonly prefixHashLoadFactor: number;
  /** Requests above the mean that prefix_hash always allows. */
  readonly prefixHashBalanceAbsThreshold: number;
  readonly leastLoad: LeastLoadParameters;
  /** Seconds between adjustments of bucket boundaries, > 0. */
  readonly bucketAdjustIntervalSecs: number;
  /** What engines last reported of their load. */
  readonly loads: WorkerLoads;
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
