import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { type BoundaryHash, type Hashes, tokenBytes } from '@smg/kv-index';
import { UNKNOWN_MODEL } from '@smg/protocol';
import { type CacheGauges, type CacheSizes } from './cache-gauges';
import { CachedPrefixes } from './cached-prefixes';
import { HolderChoice } from './holder-choice';
import { Placements } from './placements';
import { ScanCopy } from './scan-copy';
import { MAX_TIMER_MS, PROCESS_TIMERS, type Timers } from './timers';
import { isUnderPressure } from './usage-gate';
import { anyOf, leastLoaded, totalLoad } from './worker-list';

// cache_aware: send a prompt where its beginning was sent before, unless that worker is busy.
// Source: SMG contract, cache_aware.

/** Holders of a prefix that are considered, as in the contract. */
const MAX_HOLDERS = 8;
/** Of one turn of the event loop, when there are many trees. */
const MAX_SWEEP_MS = 2;

const NOTHING = Buffer.alloc(0);

/** What a policy takes from its surroundings; tests bring their own. */
export interface CacheAwareParts {
  readonly timers?: Timers;
  /** Needed for `cacheIndex: 'hash'` alone. */
  readonly hashes?: Pick<Hashes, 'xxh3'>;
  readonly gauges?: CacheGauges;
  /** Shared by instances; left out, an instance has its own. */
  readonly placements?: Placements;
}

interface Member {
  worker: WorkerView;
  /** Of its model's state. */
  readonly key: string;
  /** Requests ever sent to it: breaks ties between idle workers. */
  served: number;
}

/** One instance serves one model or, as the default, several; each model has its own trees. */
export class CacheAwarePolicy implements RoutingPolicy {
  readonly name = 'cache_aware';
  private readonly states = new Map<string, CachedPrefixes>();
  /** Known workers, by URL. */
  private readonly members = new Map<string, Member>();
  private readonly timers: Timers;
  private readonly placements: Placements;
  private readonly hashes: Pick<Hashes, 'xxh3'> | undefined;
  private readonly choice: HolderChoice;
  private readonly releases: readonly (() => void)[];
  /** Holders among the candidates of this call. */
  private readonly holders: WorkerView[] = [];
  private readonly scan = new ScanCopy();
  private isSweeping = false;
  private isDisposed = false;

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    { timers = PROCESS_TIMERS, hashes, gauges, placements }: CacheAwareParts = {},
  ) {
    if (parameters.cacheIndex === 'hash' && hashes === undefined) {
      throw new Error('cache_aware: a hash index needs hash functions');
    }
    this.timers = timers;
    this.placements = placements ?? new Placements(() => timers.now());
    this.hashes = parameters.cacheIndex === 'hash' ? hashes : undefined;
    this.choice = new HolderChoice(parameters);
    const intervalMs = Math.min(parameters.evictionIntervalSecs * 1000, MAX_TIMER_MS);
    const stopEviction = timers.every(Math.max(intervalMs, 1), () => {
      this.sweep();
    });
    this.releases = gauges === undefined ? [stopEviction] : [stopEviction, gauges.watch(this)];
  }

  select(given: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const candidates = this.scan.of(given);
    const first = candidates[0];
    if (first === undefined) return undefined;
    const state = this.states.get(keyOf(first.modelId));
    const tokens = context.routingTokens();
    const hasTokens = tokens !== undefined && tokens.length > 0;
    if (this.hashes !== undefined) {
      return this.selectByHash(candidates, state, hasTokens ? tokens : []);
    }
    if (state === undefined) {
      return isUnderPressure(candidates, this.parameters)
        ? this.lightest(candidates)
        : anyOf(candidates, this.parameters.random);
    }
    return hasTokens
      ? this.selectByTokens(candidates, state, tokens)
      : this.selectByText(candidates, state, context.routingText() ?? NOTHING);
  }

  addWorker(worker: WorkerView): void {
    const known = this.members.get(worker.url);
    const key = keyOf(worker.modelId);
    if (known?.key === key) {
      known.worker = worker;
      return;
    }
    if (known !== undefined) this.removeWorker(worker);
    let state = this.states.get(key);
    if (state === undefined) {
      state = new CachedPrefixes(this.parameters, () => this.timers.now(), this.placements);
      this.states.set(key, state);
    }
    state.workers++;
    state.addWorker(worker.url);
    this.members.set(worker.url, { worker, key, served: 0 });
  }

  removeWorker(worker: WorkerView): void {
    // Through the pool of all models a worker may have come into the tree of another model.
    for (const state of this.states.values()) state.removeWorker(worker.url);
    const known = this.members.get(worker.url);
    if (known === undefined) return;
    this.members.delete(worker.url);
    this.scan.drop();
    this.holders.length = 0;
    const state = this.states.get(known.key);
    if (state !== undefined && --state.workers === 0) this.states.delete(known.key);
    this.sweepSoon();
  }

  resetWorker(worker: WorkerView): void {
    for (const state of this.states.values()) state.resetWorker(worker.url);
    this.sweepSoon();
  }

  dispose(): void {
    this.isDisposed = true;
    for (const release of this.releases) release();
    this.states.clear();
    this.members.clear();
  }

  *sizes(): Generator<readonly [string, CacheSizes]> {
    for (const [model, state] of this.states) yield [model, state.sizes];
  }

  private selectByText(
    candidates: readonly WorkerView[],
    state: CachedPrefixes,
    text: Buffer,
  ): WorkerView | undefined {
    let picked: WorkerView | undefined;
    if (isUnderPressure(candidates, this.parameters)) {
      picked = this.lightest(candidates);
    } else {
      const match = state.text.match(text, MAX_HOLDERS);
      const total = match.totalCharacters;
      if (!this.isHit(match.matchedCharacters, total)) picked = this.lightest(candidates);
      // The prefix lives only where nobody can be sent now: it stays there.
      else if (!this.findHolders(candidates, match.tenants)) return leastLoaded(candidates);
      else picked = this.holderOrSpill(candidates, total);
    }
    if (picked === undefined) return undefined;
    this.countServed(picked);
    state.insertText(text, picked.url);
    return picked;
  }

  private selectByTokens(
    candidates: readonly WorkerView[],
    state: CachedPrefixes,
    tokens: readonly number[],
  ): WorkerView | undefined {
    let picked: WorkerView | undefined;
    if (isUnderPressure(candidates, this.parameters)) {
      picked = this.lightest(candidates);
    } else {
      const match = state.tokens.match(tokens, MAX_HOLDERS);
      if (!this.isHit(match.matchedTokens, tokens.length)) picked = this.lightest(candidates);
      else if (!this.findHolders(candidates, match.tenants)) return leastLoaded(candidates);
      else picked = this.holderOrSpill(candidates, tokens.length);
    }
    if (picked === undefined) return undefined;
    this.countServed(picked);
    state.insertTokens(tokens, picked.url);
    return picked;
  }

  private selectByHash(
    candidates: readonly WorkerView[],
    state: CachedPrefixes | undefined,
    tokens: readonly number[],
  ): WorkerView | undefined {
    const beginnings = state === undefined ? [] : this.beginningsOf(tokens);
    let picked: WorkerView | undefined;
    if (state !== undefined && !isUnderPressure(candidates, this.parameters)) {
      // Longest first.
      for (let i = beginnings.length - 1; i >= 0 && picked === undefined; i--) {
        const beginning = beginnings[i];
        if (beginning === undefined) continue;
        if (!this.findHolders(candidates, state.holdersOf(beginning))) continue;
        const holder = leastLoaded(this.holders);
        picked =
          holder !== undefined && this.isOverloaded(holder, candidates)
            ? this.lightest(candidates)
            : holder;
      }
    }
    picked ??= this.lightest(candidates);
    if (picked === undefined) return undefined;
    this.countServed(picked);
    if (beginnings.length > 0) state?.place(beginnings, picked.url);
    return picked;
  }

  /** The applicable boundaries with the hash of what is before them, ascending. */
  private beginningsOf(tokens: readonly number[]): readonly BoundaryHash[] {
    const { hashes } = this;
    const found: BoundaryHash[] = [];
    if (hashes === undefined) return found;
    for (const boundary of this.parameters.cacheBoundaries) {
      if (boundary > tokens.length) break;
      found.push({ boundary, hash: hashes.xxh3(tokenBytes(tokens, boundary)) });
    }
    return found;
  }

  private isHit(matched: number, total: number): boolean {
    return total > 0 && matched / total > this.parameters.cacheThreshold;
  }

  /** Fills `holders` with those of `urls` that are candidates. @returns whether there is any. */
  private findHolders(candidates: readonly WorkerView[], urls: readonly string[]): boolean {
    this.holders.length = 0;
    for (const url of urls) {
      const worker = this.members.get(url)?.worker;
      if (worker !== undefined && candidates.includes(worker)) this.holders.push(worker);
    }
    return this.holders.length > 0;
  }

  private holderOrSpill(candidates: readonly WorkerView[], length: number): WorkerView | undefined {
    const holder = this.choice.choose(this.holders, length);
    return holder !== undefined && this.isOverloaded(holder, candidates)
      ? this.lightest(candidates)
      : holder;
  }

  /** The spill gate: both margins over the candidates' mean load must be exceeded. */
  private isOverloaded(worker: WorkerView, candidates: readonly WorkerView[]): boolean {
    if (worker.load <= this.parameters.balanceAbsThreshold) return false;
    const mean = totalLoad(candidates) / candidates.length;
    return (
      worker.load > mean * this.parameters.balanceRelThreshold &&
      worker.load > mean + this.parameters.balanceAbsThreshold
    );
  }

  /** Lowest load, then fewest requests ever, then first in order. */
  private lightest(candidates: readonly WorkerView[]): WorkerView | undefined {
    let best = candidates[0];
    if (best === undefined) return undefined;
    let bestServed = -1;
    for (let i = 1; i < candidates.length; i++) {
      const worker = candidates[i];
      if (worker === undefined || worker.load > best.load) continue;
      if (worker.load < best.load) {
        best = worker;
        bestServed = -1;
        continue;
      }
      if (bestServed === -1) bestServed = this.servedBy(best);
      const served = this.servedBy(worker);
      if (served >= bestServed) continue;
      best = worker;
      bestServed = served;
    }
    return best;
  }

  private servedBy(worker: WorkerView): number {
    return this.members.get(worker.url)?.served ?? 0;
  }

  private countServed(worker: WorkerView): void {
    const member = this.members.get(worker.url);
    if (member !== undefined) member.served += 1;
  }

  private sweepSoon(): void {
    if (this.isSweeping) return;
    this.isSweeping = true;
    this.timers.soon(() => {
      this.isSweeping = false;
      this.sweep();
    });
  }

  /** One slice of eviction; comes back after other work when more is left. */
  private sweep(): void {
    if (this.isDisposed) return;
    const started = this.timers.now();
    for (const state of this.states.values()) {
      const isDone = state.sweep();
      if (!isDone || this.timers.now() - started > MAX_SWEEP_MS) {
        // From the first again: those that are done cost nothing.
        this.sweepSoon();
        return;
      }
    }
  }
}

/** `--policy cache_aware` */
export class CacheAwareFactory implements RoutingPolicyFactory {
  readonly name = 'cache_aware';

  private readonly parts: CacheAwareParts;

  constructor(parts: CacheAwareParts = {}) {
    const { timers = PROCESS_TIMERS } = parts;
    this.parts = { placements: new Placements(() => timers.now()), ...parts };
  }

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new CacheAwarePolicy(parameters, this.parts);
  }
}

function keyOf(modelId: string): string {
  return modelId === '' ? UNKNOWN_MODEL : modelId;
}
