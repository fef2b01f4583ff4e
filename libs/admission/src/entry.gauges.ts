import { type Metrics } from '@smg/plugin-api';
import { type EntryGate } from './core/entry-gate';
import { PRIORITY_CLASSES, type PriorityRank } from './core/priority-class';

/** Requests in flight and waiting, read from the gate at each scrape. */
export function plainGauges(metrics: Metrics, gate: EntryGate): void {
  const depth = metrics
    .gauge({ name: 'smg_admission_queue_depth', help: 'Requests that wait for a permit.' })
    .cell();
  const inFlight = metrics
    .gauge({ name: 'smg_admission_inflight', help: 'Requests that were let in and are not over.' })
    .cell();
  metrics.onCollect(() => {
    depth.set(gate.waitingIn());
    inFlight.set(gate.slots.inFlight);
  });
}

/** The same for each class, and how much of the capacity is used. */
export function classGauges(metrics: Metrics, gate: EntryGate): void {
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `smg_scheduler_${name}`, help, labels: ['class'] });
  const inFlight = gauge('inflight', 'Requests of the class in flight.');
  const depth = gauge('queue_depth', 'Requests of the class that wait.');
  const limit = gauge('queue_size_limit', 'Requests of the class that may wait.');
  const pressure = gauge(
    'class_capacity_pressure',
    'Requests of the class in flight and waiting, for each slot the class could have now.',
  );
  const rows = PRIORITY_CLASSES.map((name, index) => ({
    rank: index as PriorityRank,
    inFlight: inFlight.cell(name),
    depth: depth.cell(name),
    limit: limit.cell(name),
    pressure: pressure.cell(name),
  }));
  const utilization = metrics
    .gauge({ name: 'smg_scheduler_utilization', help: 'Requests in flight, for each slot.' })
    .cell();
  metrics.onCollect(() => {
    const { slots } = gate;
    utilization.set(ratio(slots.inFlight, slots.capacity));
    for (const row of rows) {
      const running = slots.inFlightOf(row.rank);
      const waiting = gate.waitingIn(row.rank);
      row.inFlight.set(running);
      row.depth.set(waiting);
      row.limit.set(gate.queueSizeOf(row.rank));
      row.pressure.set(ratio(running + waiting, slots.reachOf(row.rank)));
    }
  });
}

/** 0 of no limit is 0. */
function ratio(part: number, whole: number): number {
  return part === 0 ? 0 : part / Math.max(whole, 1);
}
