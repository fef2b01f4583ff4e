import { type AssignmentMode, type WorkerView } from '@smg/plugin-api';
import { anyOf } from './worker-list';

/**
 * A worker for a key that has none: any, the one with the fewest requests in flight, or with the
 * fewest distinct keys in flight. Ties are uniform. `delegate` means `min_load` where nobody else
 * could be asked.
 * @param candidates not empty.
 * @param random uniform in [0, 1).
 */
export function assignWorker(
  mode: AssignmentMode,
  candidates: readonly WorkerView[],
  random: () => number,
): WorkerView | undefined {
  if (mode === 'random') return anyOf(candidates, random);
  const byKeys = mode === 'min_group';
  let best: WorkerView | undefined;
  let least = Infinity;
  let ties = 1;
  for (const worker of candidates) {
    const weight = byKeys ? worker.keysInFlight : worker.load;
    if (weight < least) {
      best = worker;
      least = weight;
      ties = 1;
    } else if (weight === least && random() * ++ties < 1) {
      best = worker;
    }
  }
  return best;
}
