import {
  type BoundaryHash,
  type EvictionLimits,
  type HashIndex,
  PrefixTree,
  TokenTree,
} from '@smg/kv-index';
import { type RoutingPolicyParameters } from '@smg/plugin-api';
import { type CacheSizes } from './cache-gauges';
import { type Placements } from './placements';

/** Entries of the hash index dropped in one sweep. */
const INDEX_SLICE = 4_096;

/** What one model's workers hold, as far as this gateway sent it there. Workers are known by URL. */
export class CachedPrefixes {
  readonly text: PrefixTree;
  readonly tokens: TokenTree;
  private readonly ttlMs: number;
  /** Of the model, in an index that others share. */
  private readonly space: number;
  /** What inserts hold their tree to, between two timed evictions. */
  private readonly insertLimits: EvictionLimits;
  /** Workers of the model itself; the state goes with the last one. */
  workers = 0;

  constructor(
    private readonly parameters: RoutingPolicyParameters,
    now: () => number,
    private readonly placements: Placements,
  ) {
    this.insertLimits = { maxCharacters: parameters.maxTreeSize };
    this.ttlMs = parameters.cacheTtlSecs * 1000;
    this.space = placements.nextSpace();
    this.text = new PrefixTree(now);
    this.tokens = new TokenTree(now, parameters.blockSize);
  }

  get sizes(): CacheSizes {
    return {
      characters: this.text.size,
      tokens: this.tokens.size,
      stringTenants: this.text.tenantCount,
      tokenTenants: this.tokens.tenantCount,
      placements: this.index?.sizeOf(this.space) ?? 0,
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
    this.text.relieve(this.insertLimits);
  }

  insertTokens(tokens: readonly number[], url: string): void {
    this.tokens.insert(tokens, url);
    this.tokens.relieve(this.insertLimits);
  }

  holdersOf({ boundary, hash }: BoundaryHash): readonly string[] {
    return this.index?.holders(boundary, hash, this.space) ?? [];
  }

  place(beginnings: readonly BoundaryHash[], url: string): void {
    this.placements.make(this.ttlMs).touch(beginnings, url, this.space);
  }

  private get index(): HashIndex | undefined {
    return this.placements.find(this.ttlMs);
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
