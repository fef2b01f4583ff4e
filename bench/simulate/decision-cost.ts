import { Fleet } from './fleet';
import { type Scenario } from './scenario';
import { SimContext } from './sim-context';
import { type SimWorker } from './sim-worker';
import { type Recorded } from './simulation';
import { type Variant } from './variants';

/** Selections between two looks at the CPU clock, which counts in microseconds. */
const BATCH = 256;
/** Share of the requests that only warm up. */
const WARM_UP = 0.25;

/**
 * CPU time of a selection in nanoseconds, garbage collection in other threads included. The recorded
 * requests are sent again, in order and without engines: each stays in flight for as many selections as
 * there were requests in flight on average.
 */
export async function cpuPerDecision(
  scenario: Scenario,
  variant: Variant,
  recorded: readonly Recorded[],
  inFlight: number,
): Promise<number> {
  const { workers, leg } = scenario;
  const fleet = await Fleet.start({ variant, count: workers, leg, seed: 1 });
  const busy: { worker: SimWorker; key: string | undefined }[] = [];
  let cpuUs = 0;
  let counted = 0;
  let oldest = 0;
  try {
    for (let from = 0; from + BATCH <= recorded.length; from += BATCH) {
      const batch = recorded.slice(from, from + BATCH);
      const contexts = batch.map(({ prompt, key }) => new SimContext(prompt, key, leg, variant));
      const before = process.cpuUsage();
      const outcomes = contexts.map((context) => fleet.selector.select(fleet.pool(leg), context));
      const { user, system } = process.cpuUsage(before);
      if (from >= recorded.length * WARM_UP) {
        cpuUs += user + system;
        counted += BATCH;
      }
      outcomes.forEach((outcome, i) => {
        const worker = fleet.chosen(outcome);
        if (worker === undefined) return;
        const { key } = batch[i]!;
        worker.dispatched(key);
        busy.push({ worker, key });
      });
      while (busy.length - oldest > inFlight) {
        const { worker, key } = busy[oldest++]!;
        worker.finished(key);
      }
    }
  } finally {
    await fleet.stop();
  }
  return (cpuUs * 1000) / counted;
}
