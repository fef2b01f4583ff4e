import { type WorkerLoadReport } from '@smg/plugin-api';
import { type EventQueue } from './event-queue';
import { KvCache, type Pinned } from './kv-cache';
import { type Segment, tokensOf } from './prompt';

/** What an engine can do. */
export interface EngineSpec {
  /** Prompt tokens per second that are in no cache. */
  readonly prefillRate: number;
  /** Milliseconds of a prefill beside its tokens. */
  readonly prefillOverhead: number;
  /** Milliseconds of one decode step of a batch of n: `decodeBase + n * decodePerRequest`. */
  readonly decodeBase: number;
  readonly decodePerRequest: number;
  /** Requests that run at the same time. */
  readonly maxRunning: number;
  /** Tokens. */
  readonly kvCapacity: number;
  /** False: a prefill worker, whose requests are decoded elsewhere. */
  readonly decodes: boolean;
}

/** A request at an engine. */
export interface Job {
  readonly prompt: readonly Segment[];
  readonly answer: Segment;
  /** Prompt tokens found in the cache; called when the prefill begins. */
  readonly onStart: (cached: number, total: number) => void;
  readonly onFirstToken: () => void;
  readonly onDone: () => void;
}

/**
 * A continuously batching engine: first come first served, one prefill at a time, decode beside it in a
 * batch whose steps are the slower the larger it is.
 */
export class Engine {
  private readonly cache: KvCache;
  private readonly waiting: Job[] = [];
  /** Place in `waiting` of the next job; what is before it has left. */
  private head = 0;
  private running = 0;
  private isPrefilling = false;
  private reports = 0;

  constructor(
    private readonly spec: EngineSpec,
    private readonly queue: EventQueue,
  ) {
    this.cache = new KvCache(spec.kvCapacity);
  }

  submit(job: Job): void {
    this.waiting.push(job);
    this.next();
  }

  /** New weights. What runs goes on, and what it computed is used by nobody else. */
  flush(): void {
    this.cache.flush();
  }

  /** What the engine says of its load when asked. */
  report(): WorkerLoadReport {
    let uncached = 0;
    for (let i = this.head; i < this.waiting.length; i += 1) {
      const { prompt } = this.waiting[i]!;
      uncached += tokensOf(prompt) - this.cache.match(prompt);
    }
    return {
      sequence: ++this.reports,
      runningRequests: this.running,
      waitingRequests: this.waiting.length - this.head,
      waitingUncachedTokens: uncached,
      tokenUsage: this.cache.usage,
      genThroughput: this.spec.decodes ? (this.running * 1000) / this.stepMs() : 0,
      cacheHitRate: undefined,
      ranks: [],
    };
  }

  private next(): void {
    if (this.isPrefilling || this.running >= this.spec.maxRunning) return;
    const job = this.waiting[this.head];
    if (job === undefined) return;
    const segments = this.spec.decodes ? [...job.prompt, job.answer] : job.prompt;
    // A request that does not fit blocks those behind it: nobody starves.
    if (!this.cache.fits(segments)) return;
    this.head += 1;
    if (this.head > 1_024) {
      this.waiting.splice(0, this.head);
      this.head = 0;
    }
    const total = tokensOf(job.prompt);
    const cached = this.cache.match(job.prompt);
    const pinned = this.cache.pin(segments);
    this.isPrefilling = true;
    this.running += 1;
    job.onStart(cached, total);
    const { prefillOverhead, prefillRate } = this.spec;
    this.queue.after(prefillOverhead + ((total - cached) / prefillRate) * 1000, () => {
      this.prefilled(job, pinned);
    });
  }

  private prefilled(job: Job, pinned: Pinned): void {
    this.isPrefilling = false;
    job.onFirstToken();
    if (this.spec.decodes) {
      this.queue.after(job.answer.tokens * this.stepMs(), () => {
        this.finish(job, pinned);
      });
      this.next();
    } else {
      this.finish(job, pinned);
    }
  }

  private finish(job: Job, pinned: Pinned): void {
    this.running -= 1;
    this.cache.release(pinned);
    job.onDone();
    this.next();
  }

  private stepMs(): number {
    return this.spec.decodeBase + this.running * this.spec.decodePerRequest;
  }
}
