import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often the process is looked at, milliseconds. */
const INTERVAL_MS = 5000;
/** Requests since the last collection from which another one is worth its pause of some 20 ms. */
const WORTH_COLLECTING = 500;
/** Requests per interval that still count as idle: probes, a scrape, a lone client. */
const IDLE_REQUESTS = 20;

/** What is asked of the process's traffic. */
export interface Traffic {
  /** Requests between their start and their end. */
  readonly inFlight: number;
  /** Requests ended since the start of the process. */
  readonly finishedTotal: number;
}

/** A major collection; undefined when this runtime will not hand one out. */
export function collectorOfRuntime(): (() => void) | undefined {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as (() => void) | undefined;
  return typeof collect === 'function' ? collect : undefined;
}

/**
 * Gives memory back after a burst. V8 collects when it allocates, so a process that went quiet keeps
 * the garbage of its busiest hour; this collects once the traffic has ceased, never under load and
 * never while a request is in flight.
 */
export class IdleCollector {
  private lastSeen = 0;
  /** Start-up leaves garbage too: the first idle look collects. */
  private lastCollected = -WORTH_COLLECTING;

  constructor(
    private readonly traffic: Traffic,
    private readonly collect: () => void,
  ) {}

  /** Looks for as long as the process lives, and never keeps it alive. */
  start(): void {
    setInterval(() => {
      this.look();
    }, INTERVAL_MS).unref();
  }

  /** One look; `start` takes one every five seconds. */
  look(): void {
    const { inFlight, finishedTotal } = this.traffic;
    const isIdle = inFlight === 0 && finishedTotal - this.lastSeen <= IDLE_REQUESTS;
    this.lastSeen = finishedTotal;
    if (!isIdle || finishedTotal - this.lastCollected < WORTH_COLLECTING) return;
    this.lastCollected = finishedTotal;
    this.collect();
  }
}
