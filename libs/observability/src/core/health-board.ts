/**
 * Readiness shared with the health listener's thread: the main loop writes, the thread reads, and
 * neither waits for the other. A version counter, odd while a write is under way, guards the text.
 */

/** What a readiness probe is told. */
export interface ReadinessVerdict {
  /** Undefined when ready. */
  readonly reason: string | undefined;
  readonly healthyWorkers: number;
  readonly totalWorkers: number;
}

const VERSION = 0;
const READY = 1;
const HEALTHY = 2;
const TOTAL = 3;
const HEARTBEAT = 4;
const REASON_BYTES = 5;
const WORDS = 6;
/** Bytes; longer reasons are cut. */
const REASON_CAPACITY = 512;
/** Reads repeated when a write came in between; a write takes microseconds. */
const READ_ATTEMPTS = 100;

export class HealthBoard {
  private readonly words: Int32Array;
  private readonly text: Uint8Array;

  /** @param memory shared with the other thread. */
  constructor(
    readonly memory: SharedArrayBuffer = new SharedArrayBuffer(WORDS * 4 + REASON_CAPACITY),
  ) {
    this.words = new Int32Array(memory, 0, WORDS);
    this.text = new Uint8Array(memory, WORDS * 4, REASON_CAPACITY);
  }

  write(verdict: ReadinessVerdict): void {
    Atomics.add(this.words, VERSION, 1);
    Atomics.store(this.words, READY, verdict.reason === undefined ? 1 : 0);
    Atomics.store(this.words, HEALTHY, verdict.healthyWorkers);
    Atomics.store(this.words, TOTAL, verdict.totalWorkers);
    const { written } = new TextEncoder().encodeInto(verdict.reason ?? '', this.text);
    Atomics.store(this.words, REASON_BYTES, written);
    Atomics.add(this.words, VERSION, 1);
  }

  read(): ReadinessVerdict {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      const before = Atomics.load(this.words, VERSION);
      const verdict = this.copy();
      if (before % 2 === 0 && Atomics.load(this.words, VERSION) === before) return verdict;
    }
    return { reason: 'readiness is being updated', healthyWorkers: 0, totalWorkers: 0 };
  }

  /** The main loop is alive. */
  beat(): void {
    Atomics.add(this.words, HEARTBEAT, 1);
  }

  /** Changes with every beat. */
  get heartbeat(): number {
    return Atomics.load(this.words, HEARTBEAT);
  }

  private copy(): ReadinessVerdict {
    // A copy, since a decoder does not take shared memory.
    const bytes = this.text.slice(0, Atomics.load(this.words, REASON_BYTES));
    return {
      reason:
        Atomics.load(this.words, READY) === 1 ? undefined : Buffer.from(bytes).toString('utf8'),
      healthyWorkers: Atomics.load(this.words, HEALTHY),
      totalWorkers: Atomics.load(this.words, TOTAL),
    };
  }
}
