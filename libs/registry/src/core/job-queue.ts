import { type JobStatusWire } from '@smg/protocol';
import { type Clock } from './clock';

export type JobType = 'AddWorker' | 'UpdateWorker' | 'RemoveWorker';

/** One piece of background work about one worker URL. */
export interface Job {
  readonly type: JobType;
  /** Jobs of one key run one after the other, in submission order. */
  readonly key: string;
  /** Shown as `worker_url`. */
  readonly url: string;
  /** @param note shows what the job waits for, as the `message` of its status. */
  run(signal: AbortSignal, note: (message: string) => void): Promise<void>;
  /** Called once, however the job ended; `error` is undefined on success. */
  settled?(error: unknown): void;
}

export interface JobQueueLimits {
  /** Jobs waiting. */
  readonly capacity: number;
  /** Jobs running. */
  readonly concurrency: number;
}

/** A failed status stays visible this long. Source: SMG contract 3.3. */
const FAILED_KEPT_MS = 300_000;
const SWEEP_MS = 60_000;

/** Why a job ended without having failed. */
export class JobSuperseded extends Error {
  override readonly name = 'JobSuperseded';
}

interface Entry {
  readonly job: Job;
  readonly abort: AbortController;
  isRunning: boolean;
}

interface FailedStatus {
  readonly status: JobStatusWire;
  readonly expiresAt: number;
}

/**
 * Bounded queue of registry work. Law: SMG contract 3.3; in addition jobs of one URL never overlap,
 * and newer work may supersede older: a removal does not wait for a half-hour of probing.
 */
export class JobQueue {
  readonly #waiting: Entry[] = [];
  readonly #running = new Set<Entry>();
  readonly #busyKeys = new Set<string>();
  readonly #failed = new Map<string, FailedStatus>();
  readonly #status = new Map<string, JobStatusWire>();
  readonly #expiryListeners: ((key: string) => void)[] = [];
  #cancelSweep: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly clock: Clock,
    private readonly limits: JobQueueLimits,
  ) {}

  /** @returns why the job was refused, or undefined. */
  submit(job: Job): 'full' | 'closed' | undefined {
    if (this.#isClosed) return 'closed';
    if (this.#waiting.length >= this.limits.capacity) return 'full';
    this.#waiting.push({ job, abort: new AbortController(), isRunning: false });
    this.#failed.delete(job.key);
    this.#note(job, 'pending');
    this.#pump();
    return undefined;
  }

  /** Ends the jobs of a key, waiting or running, that are of one of `types`. */
  supersede(key: string, types: readonly JobType[]): void {
    const reason = new JobSuperseded('superseded by a newer request');
    for (const entry of this.#running) {
      if (entry.job.key === key && types.includes(entry.job.type)) entry.abort.abort(reason);
    }
    for (let i = this.#waiting.length - 1; i >= 0; i--) {
      const entry = this.#waiting[i];
      if (entry?.job.key !== key || !types.includes(entry.job.type)) continue;
      this.#waiting.splice(i, 1);
      this.#status.delete(key);
      entry.job.settled?.(reason);
    }
  }

  /** What goes on about a URL, or why the last job failed. */
  status(key: string): JobStatusWire | undefined {
    return this.#status.get(key) ?? this.#failed.get(key)?.status;
  }

  /** Drops the failed status of a key. */
  forget(key: string): void {
    this.#failed.delete(key);
  }

  /** Called when the failed status of a key is forgotten. */
  onExpired(listener: (key: string) => void): void {
    this.#expiryListeners.push(listener);
  }

  /** Takes no more work and ends what runs. */
  close(): void {
    this.#isClosed = true;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    const reason = new JobSuperseded('the gateway is stopping');
    for (const entry of this.#running) entry.abort.abort(reason);
    for (const entry of this.#waiting.splice(0)) entry.job.settled?.(reason);
    this.#status.clear();
  }

  #pump(): void {
    for (let i = 0; i < this.#waiting.length && this.#running.size < this.limits.concurrency;) {
      const entry = this.#waiting[i];
      if (entry === undefined || this.#busyKeys.has(entry.job.key)) {
        i++;
        continue;
      }
      this.#waiting.splice(i, 1);
      void this.#run(entry);
    }
  }

  async #run(entry: Entry): Promise<void> {
    const { job, abort } = entry;
    this.#running.add(entry);
    this.#busyKeys.add(job.key);
    this.#note(job, 'processing');
    let error: unknown;
    try {
      await job.run(abort.signal, (message) => {
        if (!abort.signal.aborted) this.#note(job, 'processing', message);
      });
    } catch (thrown) {
      error = abort.signal.aborted ? abort.signal.reason : thrown;
    }
    this.#running.delete(entry);
    this.#busyKeys.delete(job.key);
    this.#conclude(job, error);
    job.settled?.(error);
    this.#pump();
  }

  #conclude(job: Job, error: unknown): void {
    if (this.#isClosed) return;
    const follower = this.#waiting.find((entry) => entry.job.key === job.key);
    if (follower === undefined) this.#status.delete(job.key);
    if (error === undefined || error instanceof JobSuperseded) return;
    const message = error instanceof Error ? error.message : 'failed';
    this.#failed.set(job.key, {
      status: this.#statusOf(job, 'failed', message),
      expiresAt: this.clock.now() + FAILED_KEPT_MS,
    });
    this.#cancelSweep ??= this.clock.after(SWEEP_MS, this.#sweep);
  }

  readonly #sweep = (): void => {
    this.#cancelSweep = undefined;
    const now = this.clock.now();
    for (const [key, failed] of this.#failed) {
      if (failed.expiresAt > now) continue;
      this.#failed.delete(key);
      for (const listener of this.#expiryListeners) listener(key);
    }
    if (this.#failed.size > 0) this.#cancelSweep = this.clock.after(SWEEP_MS, this.#sweep);
  };

  #note(job: Job, status: 'pending' | 'processing', message?: string): void {
    this.#status.set(job.key, this.#statusOf(job, status, message));
  }

  #statusOf(job: Job, status: JobStatusWire['status'], message?: string): JobStatusWire {
    return {
      job_type: job.type,
      worker_url: job.url,
      status,
      ...(message === undefined ? {} : { message }),
      timestamp: Math.floor(this.clock.now() / 1000),
    };
  }
}
