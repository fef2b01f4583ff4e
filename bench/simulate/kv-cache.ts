import { type Segment } from './prompt';

interface Entry {
  readonly id: number;
  readonly tokens: number;
  /** Requests that run on it. */
  users: number;
  /** Made with weights that are gone; nobody new may use it. */
  isStale: boolean;
}

/** What one running request holds in a cache. */
export type Pinned = readonly Entry[];

/**
 * An engine's KV cache: segments, of which those that no request runs on are evicted, least recently
 * used first and the end of a prompt before its beginning, as a radix cache does it.
 */
export class KvCache {
  private readonly index = new Map<number, Entry>();
  /** Entries without users, least recently used first. */
  private readonly idle = new Map<number, Entry>();
  private used = 0;
  private pinnedTokens = 0;

  constructor(
    /** Tokens. */
    readonly capacity: number,
  ) {}

  /** Tokens held, those nobody runs on included. */
  get size(): number {
    return this.used;
  }

  /** Share of the capacity that running requests hold, 0..1. */
  get usage(): number {
    return Math.min(1, this.pinnedTokens / this.capacity);
  }

  /** Tokens at the beginning of a prompt that need not be computed again. */
  match(prompt: readonly Segment[]): number {
    let matched = 0;
    for (const { id, tokens } of prompt) {
      if (!this.index.has(id)) break;
      matched += tokens;
    }
    return matched;
  }

  /** Whether a request fits beside those that run; one that is alone always does. */
  fits(segments: readonly Segment[]): boolean {
    if (this.pinnedTokens === 0) return true;
    let more = 0;
    for (const { id, tokens } of segments) {
      const entry = this.index.get(id);
      if (entry === undefined || entry.users === 0) more += tokens;
    }
    return this.pinnedTokens + more <= this.capacity;
  }

  /** Holds prompt and answer of a request until {@link release}, evicting as much as that takes. */
  pin(segments: readonly Segment[]): Pinned {
    const pinned: Entry[] = [];
    for (const { id, tokens } of segments) {
      let entry = this.index.get(id);
      if (entry === undefined) {
        entry = { id, tokens, users: 0, isStale: false };
        this.index.set(id, entry);
        this.used += tokens;
      }
      if (entry.users === 0) {
        this.idle.delete(id);
        this.pinnedTokens += tokens;
      }
      entry.users += 1;
      pinned.push(entry);
    }
    this.evict();
    return pinned;
  }

  release(pinned: Pinned): void {
    for (let i = pinned.length - 1; i >= 0; i -= 1) {
      const entry = pinned[i]!;
      entry.users -= 1;
      if (entry.users > 0) continue;
      this.pinnedTokens -= entry.tokens;
      if (entry.isStale) this.used -= entry.tokens;
      else this.idle.set(entry.id, entry);
    }
    this.evict();
  }

  /** New weights: nothing that is held may be used again. */
  flush(): void {
    for (const entry of this.index.values()) {
      entry.isStale = true;
      if (entry.users === 0) this.used -= entry.tokens;
    }
    this.index.clear();
    this.idle.clear();
  }

  private evict(): void {
    if (this.used <= this.capacity) return;
    for (const [id, entry] of this.idle) {
      this.idle.delete(id);
      this.index.delete(id);
      this.used -= entry.tokens;
      if (this.used <= this.capacity) return;
    }
  }
}
