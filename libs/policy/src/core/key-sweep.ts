import { type KeyTable } from './key-table';
import { MAX_TIMER_MS, type Timers } from './timers';

/** Keys forgotten in one turn of the event loop. */
const SLICE = 2_048;

/**
 * Sweeps a table every `intervalSecs`, in slices; 0: never, which costs memory only, within its bound.
 * @returns a function that ends it.
 */
export function sweepKeys(timers: Timers, intervalSecs: number, table: KeyTable): () => void {
  if (intervalSecs <= 0) return () => undefined;
  let isOver = false;
  const sweep = (): void => {
    if (!isOver && !table.sweep(SLICE)) timers.soon(sweep);
  };
  const stop = timers.every(Math.min(intervalSecs * 1000, MAX_TIMER_MS), sweep);
  return () => {
    isOver = true;
    stop();
  };
}
