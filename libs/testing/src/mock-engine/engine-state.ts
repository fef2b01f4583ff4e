import { type RunningGeneration } from './running-generation';

export const MEMORY_TAGS = ['weights', 'kv_cache', 'cuda_graph'] as const;
export type MemoryTag = (typeof MEMORY_TAGS)[number];

/** `abort`, `retract`, `in_place`: SGLang. `abort`, `wait`, `keep`: vLLM. */
export type PauseMode = 'abort' | 'retract' | 'in_place' | 'wait' | 'keep';

/** Checks tags of a request. Absent or empty means all. @returns undefined when one is unknown. */
export function readTags(tags: unknown): readonly MemoryTag[] | undefined {
  if (tags === undefined || tags === null) return MEMORY_TAGS;
  if (!Array.isArray(tags)) return undefined;
  if (tags.length === 0) return MEMORY_TAGS;
  const known = tags.filter((tag): tag is MemoryTag =>
    (MEMORY_TAGS as readonly unknown[]).includes(tag),
  );
  return known.length === tags.length ? known : undefined;
}

/** Figures of a load report, by their names in `/v1/loads`. */
export type ReportedLoad = Readonly<Record<string, unknown>>;

/** What an engine process remembers: pause, released memory, version, running generations. */
export class EngineState {
  paused: PauseMode | undefined;
  readonly released = new Set<MemoryTag>();
  readonly running = new Set<RunningGeneration>();
  /** Refits that were given a version, in order. */
  readonly versions: string[] = [];
  /** Times the KV cache was dropped. */
  cacheFlushes = 0;
  /** A vLLM weight transfer between start and finish. */
  updating = false;
  /**
   * Told in `/v1/loads` and `/metrics` in place of the real figures, by every rank, or, in a list, by
   * the rank of that index.
   */
  reportedLoads: ReportedLoad | readonly ReportedLoad[] | undefined;
  private waiters: (() => void)[] = [];

  constructor(private version: string) {}

  get weightVersion(): string {
    return this.version;
  }

  /** New weights: tokens made from now on are of this version. */
  publish(version: string): void {
    this.version = version;
    this.versions.push(version);
  }

  get isAsleep(): boolean {
    return this.released.size > 0;
  }

  /** Whether a token may be made now. */
  get mayGenerate(): boolean {
    return this.paused === undefined && !this.isAsleep;
  }

  pause(mode: PauseMode): void {
    this.paused = mode;
    if (mode === 'abort') this.abort(() => true);
  }

  resume(): void {
    this.paused = undefined;
    this.wake();
  }

  release(tags: readonly MemoryTag[]): void {
    for (const tag of tags) this.released.add(tag);
  }

  restore(tags: readonly MemoryTag[]): void {
    for (const tag of tags) this.released.delete(tag);
    this.wake();
  }

  /** @returns how many were aborted. */
  abort(matches: (generation: RunningGeneration) => boolean): number {
    let count = 0;
    for (const generation of [...this.running]) {
      if (!matches(generation) || generation.isAborted) continue;
      generation.abort();
      count += 1;
    }
    return count;
  }

  /** Whether this generation may make its next token now. */
  mayRun(generation: RunningGeneration): boolean {
    if (this.isAsleep) return false;
    return this.paused === undefined || (this.paused === 'wait' && generation.isAdmitted);
  }

  /** Resolves when `holds` does, or `signal` fires. Asked again on every change. */
  async until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    while (!holds() && !signal.aborted) await this.nextChange(signal);
  }

  /** Something changed that a waiter may wait for. */
  wake(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }

  private nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        this.waiters = this.waiters.filter((waiter) => waiter !== done);
        resolve();
      };
      this.waiters.push(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
