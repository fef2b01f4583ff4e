import {
  type RoutingPolicy,
  type RoutingPolicyFactory,
  type RoutingPolicyParameters,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { PrefixTree } from '@smg/kv-index';
import { UNKNOWN_MODEL } from '@smg/protocol';
import { PROCESS_TIMERS, type Timers } from './timers';

// cache_aware: send a prompt where its beginning was sent before, unless that worker is busy.
// Source: SMG contract, cache_aware with a text tree and without load reports.

/** Holders of a prefix that are considered, as in the contract. */
const MAX_HOLDERS = 8;
/** Between two timed evictions a tree may grow this far over its limit before inserts evict too. */
const HEADROOM = 1.25;
/** Holdings an insert drops while its tree is over that. */
const INSERT_SLICE = 64;
/** `setInterval` takes no more milliseconds than this. */
const MAX_TIMER_MS = 2_147_483_647;

/** Of one turn of the event loop, when there are many trees. */
const MAX_SWEEP_MS = 2;

const NOTHING = Buffer.alloc(0);

interface ModelState {
  readonly tree: PrefixTree;
  /** Workers of the model itself; the state goes with the last one. */
  workers: number;
}

/** One instance serves one model or, as the default, several; each model has its own tree. */
export class CacheAwarePolicy implements RoutingPolicy {
  readonly name = 'cache_aware';
  private readonly states = new Map<string, ModelState>();
  /** Requests ever sent to a worker, by URL: breaks ties between idle workers. */
  private readonly processed = new Map<string, number>();
  /** Model key of each known worker, by URL. */
  private readonly members = new Map<string, string>();
  private readonly stopEviction: () => void;
  private isSweeping = false;
  private isDisposed = false;

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    private readonly timers: Timers = PROCESS_TIMERS,
  ) {
    const intervalMs = Math.min(parameters.evictionIntervalSecs * 1000, MAX_TIMER_MS);
    this.stopEviction = timers.every(intervalMs, () => {
      this.sweep();
    });
  }

  select(candidates: readonly WorkerView[], context: SelectionContext): WorkerView | undefined {
    const first = candidates[0];
    if (first === undefined) return undefined;
    const tree = this.states.get(keyOf(first.modelId))?.tree;
    if (tree === undefined) {
      return candidates[Math.floor(this.parameters.random() * candidates.length)];
    }
    const text = inputOf(context);
    const match = tree.match(text, MAX_HOLDERS);
    const hits =
      match.totalCharacters > 0 &&
      match.matchedCharacters / match.totalCharacters > this.parameters.cacheThreshold;
    let picked: WorkerView;
    if (hits) {
      const holder = this.leastLoadedHolder(candidates, match.tenants);
      // The prefix lives only where nobody can be sent now: keep it there.
      if (holder === undefined) return first;
      picked = this.isOverloaded(holder, candidates) ? this.leastLoaded(candidates, first) : holder;
    } else {
      picked = this.leastLoaded(candidates, first);
    }
    this.remember(tree, text, picked);
    return picked;
  }

  addWorker(worker: WorkerView): void {
    if (this.members.has(worker.url)) return;
    const key = keyOf(worker.modelId);
    let state = this.states.get(key);
    if (state === undefined) {
      state = { tree: new PrefixTree(() => this.timers.now()), workers: 0 };
      this.states.set(key, state);
    }
    state.workers++;
    state.tree.addTenant(worker.url);
    this.members.set(worker.url, key);
  }

  removeWorker(worker: WorkerView): void {
    // Through the pool of all models a worker may have come into the tree of another model.
    for (const state of this.states.values()) state.tree.removeTenant(worker.url);
    this.processed.delete(worker.url);
    const key = this.members.get(worker.url);
    if (key === undefined) return;
    this.members.delete(worker.url);
    const state = this.states.get(key);
    if (state !== undefined && --state.workers === 0) this.states.delete(key);
    this.sweepSoon();
  }

  resetWorker(worker: WorkerView): void {
    for (const state of this.states.values()) state.tree.resetTenant(worker.url);
    this.sweepSoon();
  }

  dispose(): void {
    this.isDisposed = true;
    this.stopEviction();
    this.states.clear();
  }

  /** Of the candidates that hold the prefix: lowest load, then uniform. */
  private leastLoadedHolder(
    candidates: readonly WorkerView[],
    holders: readonly string[],
  ): WorkerView | undefined {
    let best: WorkerView | undefined;
    let ties = 1;
    for (const worker of candidates) {
      if (!holders.includes(worker.url)) continue;
      if (best === undefined || worker.load < best.load) {
        best = worker;
        ties = 1;
      } else if (worker.load === best.load && this.parameters.random() * ++ties < 1) {
        best = worker;
      }
    }
    return best;
  }

  /** The spill gate: both margins over the candidates' mean load must be exceeded. */
  private isOverloaded(worker: WorkerView, candidates: readonly WorkerView[]): boolean {
    let total = 0;
    for (const candidate of candidates) total += candidate.load;
    const mean = total / candidates.length;
    return (
      worker.load > mean * this.parameters.balanceRelThreshold &&
      worker.load > mean + this.parameters.balanceAbsThreshold
    );
  }

  /** Lowest load, then fewest requests ever, then first in order. */
  private leastLoaded(candidates: readonly WorkerView[], first: WorkerView): WorkerView {
    let best = first;
    for (const worker of candidates) {
      const lighter = worker.load - best.load;
      if (lighter < 0 || (lighter === 0 && this.servedBy(worker) < this.servedBy(best))) {
        best = worker;
      }
    }
    return best;
  }

  private servedBy(worker: WorkerView): number {
    return this.processed.get(worker.url) ?? 0;
  }

  private remember(tree: PrefixTree, text: Buffer, worker: WorkerView): void {
    this.processed.set(worker.url, this.servedBy(worker) + 1);
    tree.insert(text, worker.url);
    const { maxTreeSize } = this.parameters;
    if (tree.size > maxTreeSize * HEADROOM) {
      tree.evict({ maxCharacters: maxTreeSize, slice: INSERT_SLICE });
    }
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
    const { maxTreeSize, maxPrefixIdleSecs } = this.parameters;
    const maxIdleMs = maxPrefixIdleSecs === undefined ? undefined : maxPrefixIdleSecs * 1000;
    for (const { tree } of this.states.values()) {
      const isDone = tree.evict({ maxCharacters: maxTreeSize, maxIdleMs });
      if (!isDone || this.timers.now() - started > MAX_SWEEP_MS) {
        // From the first tree again: those that are done cost nothing.
        this.sweepSoon();
        return;
      }
    }
  }
}

/** `--policy cache_aware` */
export class CacheAwareFactory implements RoutingPolicyFactory {
  readonly name = 'cache_aware';

  create(parameters: RoutingPolicyParameters): RoutingPolicy {
    return new CacheAwarePolicy(parameters);
  }
}

function keyOf(modelId: string): string {
  return modelId === '' ? UNKNOWN_MODEL : modelId;
}

/**
 * What a request is matched by: its token ids, from the hint of a client that knows them better than the
 * text does, read as their decimals joined by spaces; else its text.
 */
function inputOf(context: SelectionContext): Buffer {
  const tokens = context.routingTokens();
  if (tokens !== undefined && tokens.length > 0) return Buffer.from(tokens.join(' '), 'latin1');
  return context.routingText() ?? NOTHING;
}
