import { type ControlEffect, type MemoryTag } from '@smg/plugin-api';
import { type ControlState, type EngineState, type VersionSource } from './engine-state';
import { ALL_MEMORY, memoryBits, memoryTags } from './memory-tags';
import { equalVersions, laterVersion, type WeightVersion } from './weight-version';

/** A version that became another one (`042` is `42`), or appeared, or vanished. */
export interface VersionChange {
  readonly baseUrl: string;
  readonly modelId: string;
  readonly from: WeightVersion | undefined;
  readonly to: WeightVersion | undefined;
  /** `seed`: the engine is new, so nothing it cached is stale. */
  readonly cause: 'seed' | 'reseed' | 'write';
  readonly source: VersionSource | undefined;
}

export interface ControlChange {
  readonly baseUrl: string;
  readonly from: ControlState;
  readonly to: ControlState;
}

/** Told after a write is complete, in the same tick. It must not write to the table. */
export interface VersionTableListener {
  onVersion?(change: VersionChange): void;
  onControl?(change: ControlChange): void;
  /** The engine is forgotten: version, source and control are gone. */
  onRemoved?(baseUrl: string): void;
}

/** A control call that closes an engine and has not been answered. Settle it exactly once; more is harmless. */
export interface Closing {
  /** The engine agreed: what the call closes stays closed. */
  confirm(): void;
  /** The engine did not agree: it is as it was, but for what other calls did meanwhile. */
  rollBack(): void;
}

/** The part of a state that calls close, as bits. */
interface Shut {
  readonly paused: boolean;
  readonly released: number;
  /** When the call was sent; see {@link VersionTable.moment}. */
  readonly moment: number;
}

class Entry implements EngineState {
  version: WeightVersion | undefined;
  source: VersionSource | undefined;
  paused = false;
  releasedBits = 0;
  control: ControlState = 'active';
  /** When the last call was sent that paused the engine, and that released each part of its memory. */
  pausedAt = 0;
  readonly releasedAt = [0, 0, 0];

  constructor(
    readonly baseUrl: string,
    public modelId: string,
  ) {}

  get released(): readonly MemoryTag[] {
    return memoryTags(this.releasedBits);
  }

  /** An engine agreed to what `shut` closes. */
  close(shut: Shut): void {
    if (shut.paused) {
      this.paused = true;
      this.pausedAt = Math.max(this.pausedAt, shut.moment);
    }
    this.releasedBits |= shut.released;
    for (const [at, moment] of this.releasedAt.entries()) {
      if ((shut.released & (1 << at)) !== 0) this.releasedAt[at] = Math.max(moment, shut.moment);
    }
  }

  /** Those of `bits` that no call sent after `moment` has released. */
  releasedUntil(moment: number, bits: number): number {
    return this.releasedAt.reduce(
      (left, at, bit) => (at > moment ? left & ~(1 << bit) : left),
      bits,
    );
  }
}

/**
 * What the gateway knows of each engine, by base URL: version, source, control. Every write is one
 * synchronous step, so no reader meets half of one. Source: SMG RL contract 6; closing comes first.
 *
 * Only the registry (`seed`) and the API (`setVersion` with source `api`, `setControl`) make entries.
 * An answer that arrives after its engine was removed leaves no ghost behind, which would otherwise
 * hold the fleet maximum up for ever.
 */
export class VersionTable {
  readonly #entries = new Map<string, Entry>();
  readonly #maxima = new Map<string, WeightVersion>();
  /** Calls under way, by base URL; they outlive an entry, because the call is still under way. */
  readonly #closings = new Map<string, Set<Shut>>();
  readonly #listeners: VersionTableListener[] = [];
  #inactive = 0;
  #epoch = 0;
  #moment = 0;

  /** Grows with every change that can alter who is eligible. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * A point in the order of the calls. Answers may overtake each other: an opening that was sent
   * before a closing must not undo it when its answer comes last.
   */
  get moment(): number {
    return this.#moment;
  }

  /** Engines that are paused or asleep. */
  get inactiveCount(): number {
    return this.#inactive;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Live view; undefined for an engine nobody has told of. */
  get(baseUrl: string): EngineState | undefined {
    return this.#entries.get(baseUrl);
  }

  /** Fleet maximum of a model; see {@link laterVersion}. */
  latest(modelId: string): WeightVersion | undefined {
    return this.#maxima.get(modelId);
  }

  entries(): IterableIterator<EngineState> {
    return this.#entries.values();
  }

  /** @returns a function that ends the subscription. */
  listen(listener: VersionTableListener): () => void {
    this.#listeners.push(listener);
    return () => {
      const at = this.#listeners.indexOf(listener);
      if (at >= 0) this.#listeners.splice(at, 1);
    };
  }

  /** Enters an engine with the version of its registration label. @returns false when it is known already. */
  seed(baseUrl: string, modelId: string, version: WeightVersion | undefined): boolean {
    if (this.#entries.has(baseUrl)) return false;
    const entry = this.#create(baseUrl, modelId);
    this.#write(entry, version, 'registration', 'seed');
    return true;
  }

  /** The registration label changed: its version, or none, replaces what was known. */
  reseed(baseUrl: string, modelId: string, version: WeightVersion | undefined): void {
    const entry = this.#entries.get(baseUrl);
    if (entry === undefined) {
      this.seed(baseUrl, modelId, version);
      return;
    }
    this.#write(entry, version, 'registration', 'reseed');
  }

  /** The engine serves another model now. */
  setModel(baseUrl: string, modelId: string): void {
    const entry = this.#entries.get(baseUrl);
    if (entry === undefined || entry.modelId === modelId) return;
    const previous = entry.modelId;
    entry.modelId = modelId;
    this.#recompute(previous);
    this.#recompute(modelId);
    this.#epoch++;
  }

  /**
   * Records a version. The model of a known engine stays what it is.
   * @returns false when the engine is unknown and `source` is not `api`: nothing was recorded.
   */
  setVersion(
    baseUrl: string,
    modelId: string,
    version: WeightVersion,
    source: 'passthrough' | 'api',
  ): boolean {
    let entry = this.#entries.get(baseUrl);
    if (entry === undefined) {
      if (source !== 'api') return false;
      entry = this.#create(baseUrl, modelId);
    }
    this.#write(entry, version, source, 'write');
    return true;
  }

  /** Sets both facts, paused and released, to match `control`. Calls under way still close. */
  setControl(baseUrl: string, modelId: string, control: ControlState): void {
    const entry = this.#entries.get(baseUrl) ?? this.#create(baseUrl, modelId);
    entry.paused = control === 'paused';
    entry.releasedBits = control === 'asleep' ? ALL_MEMORY : 0;
    this.#settle(entry);
  }

  pause(baseUrl: string): void {
    this.#alter(baseUrl, true, undefined);
  }

  /** @param moment when the call was sent: a pause that was sent later stands. */
  resume(baseUrl: string, moment = Infinity): void {
    const entry = this.#entries.get(baseUrl);
    if (entry !== undefined && entry.pausedAt <= moment) this.#alter(baseUrl, false, undefined);
  }

  /** @param tags empty: all of them. */
  release(baseUrl: string, tags: readonly MemoryTag[]): void {
    const entry = this.#entries.get(baseUrl);
    if (entry !== undefined) {
      this.#alter(baseUrl, undefined, entry.releasedBits | memoryBits(tags));
    }
  }

  /**
   * @param tags empty: all of them.
   * @param moment when the call was sent: a release that was sent later stands.
   */
  restore(baseUrl: string, tags: readonly MemoryTag[], moment = Infinity): void {
    const entry = this.#entries.get(baseUrl);
    if (entry !== undefined) {
      const restored = entry.releasedUntil(moment, memoryBits(tags));
      this.#alter(baseUrl, undefined, entry.releasedBits & ~restored);
    }
  }

  /**
   * Closes an engine before a call that pauses it or releases memory is sent; other effects are
   * ignored. Calls that overlap compose: the engine is closed while any of them is open.
   */
  beginClosing(baseUrl: string, effects: readonly ControlEffect[]): Closing {
    const shut = shutBy(effects, this.#moment + 1);
    if (shut === undefined) return NOTHING_CLOSED;
    this.#moment++;
    let open = this.#closings.get(baseUrl);
    if (open === undefined) {
      open = new Set();
      this.#closings.set(baseUrl, open);
    }
    open.add(shut);
    this.#settleIfKnown(baseUrl);
    const settle = (agreed: boolean): void => {
      // The set this call was put in is the one that is kept until its last call is settled.
      if (!open.delete(shut)) return;
      if (open.size === 0) this.#closings.delete(baseUrl);
      const entry = this.#entries.get(baseUrl);
      if (entry === undefined) return;
      if (agreed) entry.close(shut);
      this.#settle(entry);
    };
    return {
      confirm: () => {
        settle(true);
      },
      rollBack: () => {
        settle(false);
      },
    };
  }

  /** Forgets an engine. @returns whether it was known. */
  remove(baseUrl: string): boolean {
    const entry = this.#entries.get(baseUrl);
    if (entry === undefined) return false;
    this.#entries.delete(baseUrl);
    if (entry.control !== 'active') this.#inactive--;
    this.#recompute(entry.modelId);
    this.#epoch++;
    for (const listener of [...this.#listeners]) listener.onRemoved?.(baseUrl);
    return true;
  }

  /** Forgets every engine that is not among `baseUrls`. */
  retain(baseUrls: ReadonlySet<string>): void {
    for (const baseUrl of [...this.#entries.keys()]) {
      if (!baseUrls.has(baseUrl)) this.remove(baseUrl);
    }
  }

  #create(baseUrl: string, modelId: string): Entry {
    const entry = new Entry(baseUrl, modelId);
    this.#entries.set(baseUrl, entry);
    this.#epoch++;
    if (this.#closings.has(baseUrl)) this.#settle(entry);
    return entry;
  }

  #write(
    entry: Entry,
    version: WeightVersion | undefined,
    source: VersionSource,
    cause: VersionChange['cause'],
  ): void {
    const from = entry.version;
    entry.version = version;
    entry.source = version === undefined ? undefined : source;
    // A number compares with text by its spelling, so a new spelling alone can change who is eligible.
    if (from?.text === version?.text) return;
    this.#advance(entry, from);
    this.#epoch++;
    if (equalVersions(from, version)) return;
    const { baseUrl, modelId } = entry;
    const change = { baseUrl, modelId, from, to: version, cause, source: entry.source };
    for (const listener of [...this.#listeners]) listener.onVersion?.(change);
  }

  /** Keeps the maximum; only an engine that had a version can lower it. */
  #advance(entry: Entry, from: WeightVersion | undefined): void {
    if (from === undefined && entry.version !== undefined) {
      this.#maxima.set(entry.modelId, laterVersion(this.latest(entry.modelId), entry.version));
    } else {
      this.#recompute(entry.modelId);
    }
  }

  #recompute(modelId: string): void {
    let latest: WeightVersion | undefined;
    for (const entry of this.#entries.values()) {
      if (entry.modelId === modelId && entry.version !== undefined) {
        latest = laterVersion(latest, entry.version);
      }
    }
    if (latest === undefined) this.#maxima.delete(modelId);
    else this.#maxima.set(modelId, latest);
  }

  #alter(baseUrl: string, paused: boolean | undefined, released: number | undefined): void {
    const entry = this.#entries.get(baseUrl);
    if (entry === undefined) return;
    if (paused !== undefined) entry.paused = paused;
    if (released !== undefined) entry.releasedBits = released;
    this.#settle(entry);
  }

  #settleIfKnown(baseUrl: string): void {
    const entry = this.#entries.get(baseUrl);
    if (entry !== undefined) this.#settle(entry);
  }

  /** Derives `control` from the facts and the calls under way. */
  #settle(entry: Entry): void {
    let { paused, releasedBits: released } = entry;
    for (const shut of this.#closings.get(entry.baseUrl) ?? []) {
      paused ||= shut.paused;
      released |= shut.released;
    }
    const from = entry.control;
    const to: ControlState = released !== 0 ? 'asleep' : paused ? 'paused' : 'active';
    if (from === to) return;
    entry.control = to;
    if (from === 'active') this.#inactive++;
    else if (to === 'active') this.#inactive--;
    this.#epoch++;
    const change = { baseUrl: entry.baseUrl, from, to };
    for (const listener of [...this.#listeners]) listener.onControl?.(change);
  }
}

const NOTHING_CLOSED: Closing = Object.freeze({
  confirm: () => undefined,
  rollBack: () => undefined,
});

function shutBy(effects: readonly ControlEffect[], moment: number): Shut | undefined {
  let paused = false;
  let released = 0;
  for (const effect of effects) {
    if (effect.kind === 'pause') paused = true;
    else if (effect.kind === 'release') released |= memoryBits(effect.tags);
  }
  return paused || released !== 0 ? { paused, released, moment } : undefined;
}
