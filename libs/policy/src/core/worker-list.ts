import { type WorkerView } from '@smg/plugin-api';

/** Lowest load, the first of those alike. */
export function leastLoaded(candidates: readonly WorkerView[]): WorkerView | undefined {
  let best: WorkerView | undefined;
  for (const worker of candidates) if (best === undefined || worker.load < best.load) best = worker;
  return best;
}

/** Requests in flight at all of the candidates. */
export function totalLoad(candidates: readonly WorkerView[]): number {
  let total = 0;
  for (const worker of candidates) total += worker.load;
  return total;
}

/** @param random uniform in [0, 1). */
export function anyOf(
  candidates: readonly WorkerView[],
  random: () => number,
): WorkerView | undefined {
  return candidates[Math.floor(random() * candidates.length)];
}
