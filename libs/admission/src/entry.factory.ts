import { type Metrics, type WorkerDirectory, type WorkerEvents } from '@smg/plugin-api';
import { type AdmissionOptions, type EntryOptions } from './admission.options';
import { CapacityWatch } from './capacity.watch';
import { type Alarm, EntryGate } from './core/entry-gate';
import { EntryLine } from './core/entry-line';
import { classAnswers, PLAIN_ANSWERS } from './core/line-answers';
import { PRIORITY_CLASSES, rankOf } from './core/priority-class';
import { PriorityOf } from './core/priority-of';
import { TenantLabels } from './core/tenant-labels';
import { GatedEntry } from './entry.control';
import { classGauges, plainGauges } from './entry.gauges';
import { classMeters, plainMeter, priorityMeter } from './entry.meters';
import { NodeAlarm } from './node-alarm';
import { type SchedulerPlanSource } from './scheduler-plan.source';

/** What the gate is built from. */
export interface EntryParts {
  readonly options: AdmissionOptions;
  readonly entry: EntryOptions;
  readonly metrics: Metrics;
  readonly directory: WorkerDirectory;
  readonly events: WorkerEvents;
  readonly plans: SchedulerPlanSource;
}

/** Limits of a class until its settings are known, which is before anybody comes. */
const UNSET = Object.freeze({ queueSize: 0, timeoutMs: 0, starvationMs: Infinity });

/** The gate of `--max-concurrent-requests`, with classes when the priority scheduler is on. */
export function buildEntry(parts: EntryParts): GatedEntry {
  const { options, entry, metrics } = parts;
  const now = options.now ?? (() => performance.now());
  const gate = buildGate(parts, now);
  plainGauges(metrics, gate);
  const { scheduler } = entry;
  if (scheduler === undefined) return new GatedEntry(gate, undefined, undefined);

  const plan = parts.plans.read();
  const labels = new TenantLabels(scheduler.tenantMetricTopN);
  const priority = new PriorityOf(
    plan,
    rankOf(scheduler.defaultMaxClass) ?? 2,
    options.trustHeader ? options.headerName.toLowerCase() : undefined,
    priorityMeter(metrics, labels),
  );
  const { maxConcurrentRequests: permits } = entry;
  const { directory, events } = parts;
  const capacity = new CapacityWatch(gate, plan.classes, permits, directory, events);
  classGauges(metrics, gate);
  parts.plans.attach((next) => {
    priority.plan = next;
    capacity.replace(next.classes);
  });
  return new GatedEntry(gate, priority, capacity);
}

function buildGate({ options, entry, metrics }: EntryParts, now: () => number): EntryGate {
  const judgesLast = !options.rateLimitEnabled;
  const meters = entry.scheduler === undefined ? [] : classMeters(metrics, judgesLast);
  const { maxConcurrentRequests: permits, queueSize, queueTimeoutSecs, refillPerSecond } = entry;
  const alarm: Alarm = new NodeAlarm(now, () => {
    gate.wake();
  });
  const gate = new EntryGate({
    now,
    alarm,
    plain: new EntryLine(PLAIN_ANSWERS, plainMeter(metrics, judgesLast), {
      queueSize,
      timeoutMs: queueTimeoutSecs * 1000,
      starvationMs: Infinity,
    }),
    permits: permits > 0 ? permits : Infinity,
    refillPerSecond,
    byRank: PRIORITY_CLASSES.flatMap((name, rank) => {
      const meter = meters[rank];
      return meter === undefined ? [] : [new EntryLine(classAnswers(name), meter, UNSET)];
    }),
  });
  return gate;
}
