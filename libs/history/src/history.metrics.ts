import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  METRICS,
  type CounterCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type GaugeCell,
} from '@smg/plugin-api';
import {
  type Operation,
  type OperationResult,
  type StorageType,
  type StoreObserver,
} from './core/observed.store';

/** Milliseconds between two lines of the log about the same trouble. */
const LOG_EVERY_MS = 10_000;

/** `smg_db_*`, and a log that a broken database does not fill. */
@Injectable()
export class HistoryMetrics implements StoreObserver {
  private readonly logger = new Logger('history');
  private readonly operations: MetricFamily<CounterCell>;
  private readonly durations: MetricFamily<HistogramCell>;
  private readonly connections: MetricFamily<GaugeCell>;
  private readonly stored: MetricFamily<CounterCell>;
  private readonly lastLines = new Map<string, number>();

  constructor(@Inject(METRICS) metrics: Metrics) {
    this.operations = metrics.counter({
      name: 'smg_db_operations_total',
      help: 'Operations of the store of responses and conversations.',
      labels: ['storage_type', 'operation', 'result'],
    });
    this.durations = metrics.histogram({
      name: 'smg_db_operation_duration_seconds',
      help: 'Time an operation of the store took, in seconds.',
      labels: ['storage_type', 'operation'],
    });
    this.connections = metrics.gauge({
      name: 'smg_db_connections_active',
      help: 'Open connections to the database.',
      labels: ['storage_type'],
    });
    this.stored = metrics.counter({
      name: 'smg_db_items_stored',
      help: 'Entries written to the store.',
      labels: ['storage_type'],
    });
  }

  done(
    type: StorageType,
    operation: Operation,
    result: OperationResult,
    seconds: number,
    stored: number,
  ): void {
    this.operations.cell(type, operation, result).inc();
    this.durations.cell(type, operation).observe(seconds);
    if (stored > 0) this.stored.cell(type).inc(stored);
  }

  failed(type: StorageType, operation: Operation, message: string): void {
    this.say(
      'error',
      `${operation} ${type}`,
      `the store failed to ${operation} a ${type}: ${message}`,
    );
  }

  /** @param backend label of the gauge: a pool serves every type of entry. */
  connected(backend: string, count: number): void {
    this.connections.cell(backend).set(count);
  }

  connectionBroke(message: string): void {
    this.say('warn', 'connection', `a connection to the database broke: ${message}`);
  }

  dropped(reason: string): void {
    this.say('warn', `dropped: ${reason}`, `an answer was relayed and not kept: ${reason}`);
  }

  private say(level: 'warn' | 'error', topic: string, message: string): void {
    const now = performance.now();
    if (now - (this.lastLines.get(topic) ?? -LOG_EVERY_MS) < LOG_EVERY_MS) return;
    this.lastLines.set(topic, now);
    this.logger[level](message);
  }
}
