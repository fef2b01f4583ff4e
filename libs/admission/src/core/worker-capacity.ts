import { type WorkerView } from '@smg/plugin-api';

const LABEL = 'max_running_requests';
/** Slots of a worker that does not say how many requests it runs at once. Source: SMG contract 7.2. */
const UNKNOWN_WORKER = 64;
const DECIMAL = /^[1-9]\d{0,6}$/;

/** Requests the ready workers run at once; 0 when none is ready. */
export function capacityOf(workers: readonly WorkerView[]): number {
  let sum = 0;
  for (const worker of workers) {
    if (worker.status !== 'ready') continue;
    const label = worker.labels.get(LABEL);
    sum += label !== undefined && DECIMAL.test(label) ? Number(label) : UNKNOWN_WORKER;
  }
  return sum;
}
