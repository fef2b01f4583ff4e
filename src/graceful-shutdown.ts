import { type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longest time the listener stays open after readiness said `draining`. */
const MAX_SETTLE_MS = 5000;
const POLL_MS = 20;
/** Last part of the grace period, at most so long, in which requests that still wait are answered. */
const ANSWER_SHARE = 0.25;
const MAX_ANSWER_MS = 1000;

export interface ShutdownSteps {
  readonly server: Server;
  readonly gracePeriodMs: number;
  /** Readiness answers 503 from here on. */
  beginDraining(): void;
  /** Requests not yet finished, bodies included. */
  inFlight(): number;
  /** Refuses requests that wait to be let in: their turn will not come. */
  refuseWaiting(): void;
  /** Tells sessions that last as long as they are let to go elsewhere. */
  leaveSessions(): void;
  /** Told once the listener is closed and the wait is over. @param cut requests that were not finished. */
  drained(cut: number): void;
  /** Ends everything else: modules, timers, pools. */
  dispose(): Promise<void>;
}

/**
 * Leaves without losing a request: readiness turns, the listener stays for the settle window
 * (half the grace period, at most 5 s) so that a load balancer can notice, then it closes, and what is
 * in flight may finish until the grace period is over. A request that still waits to be let in shortly
 * before that is told so; what is left in the end is cut.
 */
export async function shutDownGracefully(steps: ShutdownSteps): Promise<void> {
  const { server, gracePeriodMs } = steps;
  const deadline = Date.now() + gracePeriodMs;
  steps.beginDraining();
  await sleep(Math.min(gracePeriodMs / 2, MAX_SETTLE_MS));

  server.close();
  server.closeIdleConnections();
  steps.leaveSessions();
  const lastCall = deadline - Math.min(gracePeriodMs * ANSWER_SHARE, MAX_ANSWER_MS);
  let isLast = false;
  while (steps.inFlight() > 0 && Date.now() < deadline) {
    if (!isLast && Date.now() >= lastCall) {
      isLast = true;
      steps.refuseWaiting();
    }
    await sleep(POLL_MS);
    server.closeIdleConnections();
  }
  steps.drained(steps.inFlight());
  server.closeAllConnections();
  await steps.dispose();
}
