import {
  type BoundaryHash,
  type EvictionLimits,
  HashIndex,
  PrefixTree,
  TokenTree,
} from '@smg/kv-index';
import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { type CacheSizes } from './cache-gauges';

/** Between two timed evictions a tree may grow this far over its limit before inserts evict too. */
const HEADROOM = 1.25;
/** Holdings an insert drops while its tree is over that. */
const INSERT_SLICE = 64;
/** Entries of the hash index dropped in one sweep. */
const INDEX_SLICE = 4_096;

/** What one model's workers hold, as far as this gateway sent it there. Workers are known by URL. */
export class CachedPrefixes {
  readonly text: PrefixTree;
  readonly tokens: TokenTree;
  /** Made with the first entry: it takes its memory at once. */
  private index: HashIndex | undefined;
  /** Of the eviction an insert does when its tree has outgrown them by {@link HEADROOM}. */
  private readonly insertLimits: EvictionLimits;
  /** Workers of the model itself; the state goes with the last one. */
  workers = 0;

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    private readonly now: () => number,
  ) {
    this.insertLimits = { maxCharacters: parameters.maxTreeSize, slice: INSERT_SLICE };
    this.text = new PrefixTree(now);
    this.tokens = new TokenTree(now, parameters.blockSize);
  }

  get sizes(): CacheSizes {
    return {
      characters: this.text.size,
      tokens: this.tokens.size,
      stringTenants: this.text.tenantCount,
      tokenTenants: this.tokens.tenantCount,
      placements: this.index?.size ?? 0,
    };
  }

  addWorker(url: string): void {
    this.text.addTenant(url);
    this.tokens.addTenant(url);
  }

  removeWorker(url: string): void {
    this.text.removeTenant(url);
    this.tokens.removeTenant(url);
    this.index?.removeTenant(url);
  }

  resetWorker(url: string): void {
    this.text.resetTenant(url);
    this.tokens.resetTenant(url);
    this.index?.resetTenant(url);
  }

  insertText(text: Buffer, url: string): void {
    this.text.insert(text, url);
    if (this.text.fullness(this.insertLimits) > HEADROOM) this.text.evict(this.insertLimits);
  }

  insertTokens(tokens: readonly number[], url: string): void {
    this.tokens.insert(tokens, url);
    if (this.tokens.fullness(this.insertLimits) > HEADROOM) this.tokens.evict(this.insertLimits);
  }

  holdersOf({ boundary, hash }: BoundaryHash): readonly string[] {
    return this.index?.holders(boundary, hash) ?? [];
  }

  place(beginnings: readonly BoundaryHash[], url: string): void {
    this.index ??= new HashIndex(this.now, { ttlMs: this.parameters.cacheTtlSecs * 1000 });
    this.index.touch(beginnings, url);
  }

  /** One slice of eviction. @returns whether it is done. */
  sweep(): boolean {
    const { maxTreeSize, maxPrefixIdleSecs } = this.parameters;
    const maxIdleMs = maxPrefixIdleSecs === undefined ? undefined : maxPrefixIdleSecs * 1000;
    const limits = { maxCharacters: maxTreeSize, maxIdleMs };
    // All three, whatever the first says: none may wait for ever behind another.
    const isTextDone = this.text.evict(limits);
    const areTokensDone = this.tokens.evict(limits);
    const isIndexDone = this.index?.sweep(INDEX_SLICE) ?? true;
    return isTextDone && areTokensDone && isIndexDone;
  }
}
