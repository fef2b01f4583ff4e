import {
  type Metrics,
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { byteLengthOfCharacters, countCharacters, type Hashes, tokenBytes } from '@smg/kv-index';
import { BranchCounter } from './branch-counter';
import { ModelRings } from './model-rings';
import { ScanCopy } from './scan-copy';
import { leastLoaded, totalLoad } from './worker-list';

/** Characters of text that stand for a token. */
const CHARACTERS_PER_TOKEN = 4;

/** What decided. */
export type PrefixBranch =
  | 'no_healthy_workers'
  | 'no_routing_key'
  | 'ring_hit'
  /** Every owner is too busy: the least loaded worker. */
  | 'load_balance_walk'
  /** There is a key, and no candidate on the ring. */
  | 'fallback_least_load';

/** `smg_prefix_hash_policy_branch_total` */
export function prefixBranches(metrics: Metrics): BranchCounter<PrefixBranch> {
  return new BranchCounter(
    metrics,
    'smg_prefix_hash_policy_branch_total',
    'Requests of the prefix_hash policy, by what decided',
  );
}

/**
 * prefix_hash: the beginning of a prompt belongs to a worker of the ring, unless that has more than its
 * share of requests. Source: SMG contract, prefix_hash.
 */
export class PrefixHashPolicy implements RoutingPolicy {
  readonly name = 'prefix_hash';
  private readonly rings: ModelRings;
  /** Requests a worker may have and still get more, for the candidates of this call. */
  private allowed = 0;
  /** The owner of the longest prefix, when it may not get more. */
  private deepest: WorkerView | undefined;
  private readonly scan = new ScanCopy();

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    private readonly hashes: Hashes,
    private readonly branches: BranchCounter<PrefixBranch>,
  ) {
    this.rings = new ModelRings(hashes);
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    this.allowed = this.allowedLoad(this.scan.of(candidates));
    const owner = this.ownerByKey(candidates, context);
    if (owner === 'no_key') {
      this.branches.count('no_routing_key');
      return leastLoaded(this.scan.of(candidates));
    }
    if (owner !== undefined) {
      this.branches.count('ring_hit');
      return owner;
    }
    const { deepest } = this;
    if (deepest === undefined) {
      this.branches.count('fallback_least_load');
      return leastLoaded(this.scan.of(candidates));
    }
    const least = leastLoaded(this.scan.of(candidates));
    const isBetter = least !== undefined && least.load <= this.allowed;
    this.branches.count(isBetter ? 'load_balance_walk' : 'ring_hit');
    return isBetter ? least : deepest;
  }

  onNobody(): void {
    this.branches.count('no_healthy_workers');
  }

  addWorker(worker: WorkerView): void {
    this.rings.add(worker);
  }

  removeWorker(worker: WorkerView): void {
    this.rings.remove(worker);
    this.scan.drop();
    this.deepest = undefined;
  }

  /** The owner of the first level that may get more. */
  private ownerByKey(
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): WorkerView | 'no_key' | undefined {
    this.deepest = undefined;
    const key = context.routingKey();
    if (key !== undefined) return this.ownerOf(key, candidates, context);
    const tokens = context.routingTokens();
    if (tokens !== undefined && tokens.length > 0) {
      return this.ownerByTokens(tokens, candidates, context);
    }
    // On other legs text is nobody's key: the pair is chosen by what both engines count in.
    const text = context.leg === 'regular' ? context.routingText() : undefined;
    if (text === undefined || text.length === 0) return 'no_key';
    return this.ownerByText(text, candidates, context);
  }

  private ownerByTokens(
    tokens: readonly number[],
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): WorkerView | undefined {
    const { cacheBoundaries, prefixTokenCount } = this.parameters;
    let applies = false;
    for (let i = cacheBoundaries.length - 1; i >= 0; i--) {
      const boundary = cacheBoundaries[i] ?? 0;
      if (boundary > tokens.length) continue;
      applies = true;
      const owner = this.ownerOf(tokenBytes(tokens, boundary), candidates, context);
      if (owner !== undefined) return owner;
    }
    return applies
      ? undefined
      : this.ownerOf(tokenBytes(tokens, prefixTokenCount), candidates, context);
  }

  private ownerByText(
    text: Buffer,
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): WorkerView | undefined {
    const { cacheBoundaries, prefixTokenCount } = this.parameters;
    let applies = false;
    for (let i = cacheBoundaries.length - 1; i >= 0; i--) {
      const prefix = beginningOf(text, cacheBoundaries[i] ?? 0);
      if (prefix === undefined) continue;
      applies = true;
      const owner = this.ownerOf(prefix, candidates, context);
      if (owner !== undefined) return owner;
    }
    return applies
      ? undefined
      : this.ownerOf(beginningOf(text, prefixTokenCount) ?? text, candidates, context);
  }

  /** The owner of a key, if it may get more. */
  private ownerOf(
    key: Uint8Array | string,
    candidates: readonly WorkerView[],
    context: SelectionContext,
  ): WorkerView | undefined {
    const owner = this.rings.ownerOf(context.model, this.hashes.xxh3Hex(key), candidates);
    if (owner === undefined) return undefined;
    if (owner.load <= this.allowed) return owner;
    this.deepest ??= owner;
    return undefined;
  }

  private allowedLoad(candidates: readonly WorkerView[]): number {
    const total = totalLoad(candidates);
    if (total === 0) return Infinity;
    const mean = (total + 1) / candidates.length;
    const { prefixHashLoadFactor, prefixHashBalanceAbsThreshold } = this.parameters;
    return Math.max(mean * prefixHashLoadFactor, mean + prefixHashBalanceAbsThreshold);
  }
}

/** The first characters of a text, four for each of `tokens`; undefined when it has fewer. */
function beginningOf(text: Buffer, tokens: number): Buffer | undefined {
  const characters = tokens * CHARACTERS_PER_TOKEN;
  // A character has at least one byte.
  if (text.length < characters) return undefined;
  const bytes = byteLengthOfCharacters(text, characters);
  const isShort = bytes === text.length && countCharacters(text) < characters;
  return isShort ? undefined : text.subarray(0, bytes);
}

/** `--policy prefix_hash` */
export class PrefixHashFactory implements RoutingPolicyFactory {
  readonly name = 'prefix_hash';

  constructor(
    private readonly hashes: Hashes,
    private readonly branches: BranchCounter<PrefixBranch>,
  ) {}

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new PrefixHashPolicy(parameters, this.hashes, this.branches);
  }
}
