import { type CounterCell, type MetricFamily, type Metrics } from '@smg/plugin-api';
import { type LineMeter } from './core/entry-line';
import { PRIORITY_CLASSES, type PriorityRank } from './core/priority-class';
import { type PriorityMeter } from './core/priority-of';
import { type TenantLabels } from './core/tenant-labels';

const nameOf = (rank: PriorityRank): string => PRIORITY_CLASSES[rank];
const nothing = (): void => undefined;

/** Requests judged by any limit; the budgets of tenants count here as well. */
export function rateLimitCells(metrics: Metrics): MetricFamily<CounterCell> {
  return metrics.counter({
    name: 'smg_http_rate_limit_total',
    help: 'Requests judged by any limit on requests.',
    labels: ['result'],
  });
}

/** @param judgesLast false when tenants have budgets: who is let in is judged, and counted, once more. */
export function plainMeter(metrics: Metrics, judgesLast: boolean): LineMeter {
  const limited = rateLimitCells(metrics);
  const rejected = limited.cell('rejected');
  const allowed = judgesLast ? limited.cell('allowed') : undefined;
  const reasons = metrics.counter({
    name: 'smg_admission_queue_rejected_total',
    help: 'Requests refused because the queue was full, or their time in it was up.',
    labels: ['reason'],
  });
  const full = reasons.cell('full');
  const timeout = reasons.cell('timeout');
  return {
    admitted: () => allowed?.inc(),
    refusedFull: () => {
      full.inc();
      rejected.inc();
    },
    refusedTimeout: () => {
      timeout.inc();
      rejected.inc();
    },
    cancelled: nothing,
    preempted: nothing,
    promoted: nothing,
  };
}

/** Counts what becomes of the requests of each class. */
export function classMeters(metrics: Metrics, judgesLast: boolean): readonly LineMeter[] {
  const limited = rateLimitCells(metrics);
  const rejected = limited.cell('rejected');
  const allowed = judgesLast ? limited.cell('allowed') : undefined;
  const outcomes = metrics.counter({
    name: 'smg_scheduler_admit_total',
    help: 'Decisions of the priority scheduler.',
    labels: ['class', 'outcome'],
  });
  const waits = metrics.histogram({
    name: 'smg_scheduler_queue_wait_seconds',
    help: 'Time from the head of a request to its admission.',
    labels: ['class'],
  });
  const preemptions = metrics.counter({
    name: 'smg_scheduler_preemption_total',
    help: 'Requests stopped for one of a higher class.',
    labels: ['victim_class', 'by_class'],
  });
  const promotions = metrics.counter({
    name: 'smg_scheduler_starvation_promotion_total',
    help: 'Requests let in past others because they had waited for too long.',
    labels: ['class'],
  });
  return PRIORITY_CLASSES.map((name) => {
    const admitted = outcomes.cell(name, 'admitted');
    const full = outcomes.cell(name, 'rejected_queue_full');
    const timeout = outcomes.cell(name, 'rejected_queue_timeout');
    const preempted = outcomes.cell(name, 'preempted');
    const cancelled = outcomes.cell(name, 'client_cancelled');
    const wait = waits.cell(name);
    const promoted = promotions.cell(name);
    return {
      admitted: (waitMs) => {
        admitted.inc();
        allowed?.inc();
        wait.observe(waitMs / 1000);
      },
      refusedFull: () => {
        full.inc();
        rejected.inc();
      },
      refusedTimeout: () => {
        timeout.inc();
        rejected.inc();
      },
      cancelled: () => {
        cancelled.inc();
      },
      preempted: (by) => {
        preempted.inc();
        preemptions.cell(name, nameOf(by)).inc();
      },
      promoted: () => {
        promoted.inc();
      },
    };
  });
}

/** Counts what requests asked for and did not get. */
export function priorityMeter(metrics: Metrics, labels: TenantLabels): PriorityMeter {
  const clamps = metrics.counter({
    name: 'smg_scheduler_clamp_total',
    help: 'Requests whose tenant may not have the class they are of.',
    labels: ['tenant', 'requested_class', 'effective_class'],
  });
  const unknown = metrics.counter({
    name: 'smg_scheduler_unknown_priority_value_total',
    help: 'Requests that asked for a class that does not exist.',
    labels: ['tenant'],
  });
  return {
    clamped: (tenant, requested, effective) => {
      clamps.cell(labels.of(tenant), nameOf(requested), nameOf(effective)).inc();
    },
    unknown: (tenant) => {
      unknown.cell(labels.of(tenant)).inc();
    },
  };
}
