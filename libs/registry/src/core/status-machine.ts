import { type WorkerStatus } from '@smg/protocol';

/**
 * What probes make of a worker. Law: SMG contract 3.7, with its later amendment that a failed worker
 * keeps being probed: an engine that comes back serves again without an operator.
 */
export interface ProbeThresholds {
  /** Consecutive successes that make a worker ready. */
  readonly success: number;
  /** Consecutive failures that make a ready worker not ready. */
  readonly failure: number;
}

/** Probes without a success after which a pending worker fails, in failure thresholds. */
const PENDING_PATIENCE = 10;
/** Further failures after which a not-ready worker fails, in failure thresholds. */
const NOT_READY_PATIENCE = 3;

/** Counts probes of one status; every change of status starts the counts anew. */
export class ProbeCounter {
  successes = 0;
  failures = 0;
  probes = 0;

  reset(): void {
    this.successes = 0;
    this.failures = 0;
    this.probes = 0;
  }

  /** Takes one probe result. @returns the status the worker has from now on. */
  take(status: WorkerStatus, isSuccess: boolean, thresholds: ProbeThresholds): WorkerStatus {
    if (status === 'draining') return status;
    this.probes++;
    this.successes = isSuccess ? this.successes + 1 : 0;
    this.failures = isSuccess ? 0 : this.failures + 1;
    const next = this.#judge(status, thresholds);
    if (next !== status) this.reset();
    return next;
  }

  #judge(status: WorkerStatus, thresholds: ProbeThresholds): WorkerStatus {
    const failure = Math.max(1, thresholds.failure);
    if (status === 'ready') return this.failures >= failure ? 'not_ready' : status;
    if (this.successes >= Math.max(1, thresholds.success)) return 'ready';
    if (status === 'pending') {
      return this.probes >= PENDING_PATIENCE * failure ? 'failed' : status;
    }
    if (status === 'not_ready') {
      return this.failures >= NOT_READY_PATIENCE * failure ? 'failed' : status;
    }
    return status;
  }
}
