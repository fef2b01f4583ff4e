import { type WorkerView } from '@smg/plugin-api';

/**
 * Keys a table keeps; beyond, the least recently used goes. Some 350 bytes each with a key of the
 * longest kind: 90 MiB when full.
 */
export const MAX_KEYS = 262_144;

/** Workers a key is kept to. */
const MAX_PINS = 2;

/** A key and the workers it was given, in the order they are tried. */
export interface KeyEntry {
  readonly key: string;
  readonly pins: string[];
  usedAt: number;
  older: KeyEntry | undefined;
  newer: KeyEntry | undefined;
}

/** Key → workers: exact keys, forgotten when idle, bounded. In order of use, so nothing is ever searched. */
export class KeyTable {
  private readonly entries = new Map<string, KeyEntry>();
  private oldest: KeyEntry | undefined;
  private newest: KeyEntry | undefined;

  /**
   * @param now milliseconds, never going back.
   * @param maxIdleMs a key not used for this long is forgotten.
   */
  constructor(
    private readonly now: () => number,
    private readonly maxIdleMs: number,
    private readonly maxKeys = MAX_KEYS,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  /** The entry of a key, which is thereby used. */
  use(key: string): KeyEntry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    const now = this.now();
    if (now - entry.usedAt >= this.maxIdleMs) {
      this.drop(entry);
      return undefined;
    }
    entry.usedAt = now;
    if (entry !== this.newest) {
      this.unlink(entry);
      this.append(entry);
    }
    return entry;
  }

  /** Forgets a key, if it is there. */
  forget(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.drop(entry);
  }

  /** Adds a key that is not there, kept to one worker. */
  add(key: string, worker: WorkerView): void {
    const entry: KeyEntry = {
      key,
      pins: [worker.url],
      usedAt: this.now(),
      older: undefined,
      newer: undefined,
    };
    this.entries.set(key, entry);
    this.append(entry);
    if (this.entries.size > this.maxKeys && this.oldest !== undefined) this.drop(this.oldest);
  }

  /**
   * Forgets idle keys.
   * @param budget keys looked at.
   * @returns whether it is done; false asks for another call.
   */
  sweep(budget: number): boolean {
    const cutoff = this.now() - this.maxIdleMs;
    for (let left = budget; ; left--) {
      const { oldest } = this;
      if (oldest === undefined || oldest.usedAt > cutoff) return true;
      if (left <= 0) return false;
      this.drop(oldest);
    }
  }

  private drop(entry: KeyEntry): void {
    this.entries.delete(entry.key);
    this.unlink(entry);
  }

  private append(entry: KeyEntry): void {
    entry.older = this.newest;
    if (this.newest === undefined) this.oldest = entry;
    else this.newest.newer = entry;
    this.newest = entry;
  }

  private unlink(entry: KeyEntry): void {
    const { older, newer } = entry;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/** Finds a registered worker by its URL. */
export type FindWorker = (url: string) => WorkerView | undefined;

/** The first worker a key is kept to that may serve now. */
export function pinnedOf(
  entry: KeyEntry,
  candidates: readonly WorkerView[],
  find: FindWorker,
): WorkerView | undefined {
  for (const url of entry.pins) {
    const worker = find(url);
    if (worker !== undefined && candidates.includes(worker)) return worker;
  }
  return undefined;
}

/** A worker to try after those a key has; the oldest makes room. */
export function pinLast(entry: KeyEntry, worker: WorkerView): void {
  entry.pins.push(worker.url);
  if (entry.pins.length > MAX_PINS) entry.pins.shift();
}

/** A worker to try before those a key has; the last makes room. */
export function pinFirst(entry: KeyEntry, worker: WorkerView): void {
  const at = entry.pins.indexOf(worker.url);
  if (at !== -1) entry.pins.splice(at, 1);
  entry.pins.unshift(worker.url);
  if (entry.pins.length > MAX_PINS) entry.pins.pop();
}

/** A worker to try while the first of a key is away; the first stays. */
export function pinSecond(entry: KeyEntry, worker: WorkerView): void {
  entry.pins.splice(1, MAX_PINS, worker.url);
}
