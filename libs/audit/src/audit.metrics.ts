import { Inject, Injectable } from '@nestjs/common';
import { type AuditEntry, METRICS, type Metrics } from '@smg/plugin-api';

/** Counts records. Every label value is one of a few words of ours. */
@Injectable()
export class AuditMetrics {
  private readonly records;
  private readonly losses;
  private readonly waiting;

  constructor(@Inject(METRICS) private readonly metrics: Metrics) {
    this.records = metrics.counter({
      name: 'smg_audit_records_total',
      help: 'Audit records made, by kind and outcome.',
      labels: ['kind', 'outcome'],
    });
    this.losses = metrics.counter({
      name: 'smg_audit_records_lost_total',
      help: 'Audit records a sink could not keep.',
      labels: ['sink'],
    });
    this.waiting = metrics.gauge({
      name: 'smg_audit_queue_records',
      help: 'Audit records that are not durable yet.',
    });
  }

  recorded({ kind, outcome }: AuditEntry): void {
    this.records.cell(kind, outcome).inc();
  }

  lost(sink: 'file' | 'log'): void {
    this.losses.cell(sink).inc();
  }

  /** Reads the queue at every scrape. */
  watchQueue(length: () => number): void {
    this.metrics.onCollect(() => {
      this.waiting.cell().set(length());
    });
  }
}
