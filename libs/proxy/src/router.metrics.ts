import { Inject, Injectable } from '@nestjs/common';
import { type Endpoint } from '@smg/protocol';
import {
  METRICS,
  type CounterCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
  type WorkerView,
} from '@smg/plugin-api';

/** `error_type` of the router and worker error counters. */
export type RouterErrorType =
  'no_workers' | 'timeout' | 'backend_error' | 'validation_error' | 'internal_error';

/** Cells of one (model, endpoint, streaming), looked up once per request. */
export interface RouteCells {
  readonly requests: CounterCell;
  readonly duration: HistogramCell;
}

/** Models with series of their own; the rest share `other`. */
const MAX_MODELS = 1024;
const OTHER = 'other';
/** Who serves a request: one worker, or a pair. */
export type BackendType = 'regular' | 'pd';

const COMMON: Readonly<Record<BackendType, readonly [string, string, string]>> = {
  regular: ['http', 'regular', 'http'],
  pd: ['http', 'pd', 'http'],
};
/** Worker types of whom another attempt asks. */
const TYPES: Readonly<Record<BackendType, readonly string[]>> = {
  regular: ['regular'],
  pd: ['prefill', 'decode'],
};
const COMMON_LABELS = ['router_type', 'backend_type', 'connection_mode', 'model', 'endpoint'];

/** The `smg_router_*` and `smg_worker_*` series of the data plane. */
@Injectable()
export class RouterMetrics {
  private readonly requests: MetricFamily<CounterCell>;
  private readonly durations: MetricFamily<HistogramCell>;
  private readonly errors: MetricFamily<CounterCell>;
  private readonly responses: MetricFamily<CounterCell>;
  private readonly sendRetries: MetricFamily<CounterCell>;
  private readonly retries: MetricFamily<CounterCell>;
  private readonly exhausted: MetricFamily<CounterCell>;
  private readonly workerErrors: MetricFamily<CounterCell>;
  private readonly truncated: MetricFamily<CounterCell>;
  private readonly sheds: MetricFamily<CounterCell>;
  private readonly models = new Set<string>();
  /** Cells by `model\0endpoint\0streaming`; bounded by MAX_MODELS times the few endpoints. */
  private readonly cells = new Map<string, RouteCells>();
  private readonly statusCells = new Map<number, CounterCell>();

  constructor(@Inject(METRICS) metrics: Metrics) {
    const counter = (name: string, help: string, labels: string[]): MetricFamily<CounterCell> =>
      metrics.counter({ name, help, labels });
    this.requests = counter('smg_router_requests_total', 'Requests taken up by the router.', [
      ...COMMON_LABELS,
      'streaming',
    ]);
    this.durations = metrics.histogram({
      name: 'smg_router_request_duration_seconds',
      help: 'From the first byte of a request to the last byte of its answer.',
      labels: COMMON_LABELS,
    });
    this.errors = counter('smg_router_request_errors_total', 'Requests that ended in an error.', [
      ...COMMON_LABELS,
      'error_type',
    ]);
    this.responses = counter(
      'smg_router_upstream_responses_total',
      'Answers by status; error_code only when the gateway made them.',
      ['router_type', 'status_code', 'error_code'],
    );
    this.sendRetries = counter(
      'smg_router_upstream_send_retries_total',
      'Requests written again because a pooled connection had died.',
      ['router_type'],
    );
    this.retries = counter('smg_worker_retries_total', 'Further attempts at a request.', [
      'worker_type',
      'endpoint',
    ]);
    this.exhausted = counter(
      'smg_worker_retries_exhausted_total',
      'Requests that failed after their last attempt.',
      ['worker_type', 'endpoint'],
    );
    this.workerErrors = counter('smg_worker_errors_total', 'Exchanges a worker failed.', [
      'worker_type',
      'connection_mode',
      'error_type',
    ]);
    this.truncated = counter(
      'smg_router_streams_truncated_total',
      'Answers that broke off after their head was sent.',
      ['model', 'endpoint'],
    );
    this.sheds = counter(
      'smg_worker_overload_shed_total',
      'Requests refused because of overload: of every worker at selection, of the chosen one at dispatch.',
      ['stage'],
    );
  }

  /** @param model canonical id of a registered model; undefined when none was resolved. */
  cellsOf(
    model: string | undefined,
    endpoint: Endpoint,
    streaming: boolean,
    backend: BackendType = 'regular',
  ): RouteCells {
    const label = this.labelOf(model);
    const key = `${label}\0${endpoint}\0${streaming ? '1' : '0'}${backend}`;
    let cells = this.cells.get(key);
    if (cells === undefined) {
      cells = {
        requests: this.requests.cell(...COMMON[backend], label, endpoint, String(streaming)),
        duration: this.durations.cell(...COMMON[backend], label, endpoint),
      };
      this.cells.set(key, cells);
    }
    return cells;
  }

  failed(
    model: string | undefined,
    endpoint: Endpoint,
    type: RouterErrorType,
    backend: BackendType = 'regular',
  ): void {
    this.errors.cell(...COMMON[backend], this.labelOf(model), endpoint, type).inc();
  }

  /** A worker's own answer. */
  answered(status: number): void {
    let cell = this.statusCells.get(status);
    if (cell === undefined) {
      cell = this.responses.cell('http', String(status), '');
      this.statusCells.set(status, cell);
    }
    cell.inc();
  }

  /** An answer the gateway made after dispatch. */
  minted(status: number, code: string): void {
    this.responses.cell('http', String(status), code).inc();
  }

  resent(): void {
    this.sendRetries.cell('http').inc();
  }

  retried(endpoint: Endpoint, backend: BackendType = 'regular'): void {
    for (const type of TYPES[backend]) this.retries.cell(type, endpoint).inc();
  }

  gaveUp(endpoint: Endpoint, backend: BackendType = 'regular'): void {
    for (const type of TYPES[backend]) this.exhausted.cell(type, endpoint).inc();
  }

  workerFailed(worker: WorkerView, type: RouterErrorType): void {
    this.workerErrors.cell(worker.workerType, worker.connectionMode, type).inc();
  }

  truncatedStream(model: string | undefined, endpoint: Endpoint): void {
    this.truncated.cell(this.labelOf(model), endpoint).inc();
  }

  shed(stage: 'selection' | 'dispatch'): void {
    this.sheds.cell(stage).inc();
  }

  private labelOf(model: string | undefined): string {
    if (model === undefined) return OTHER;
    if (this.models.has(model)) return model;
    if (this.models.size >= MAX_MODELS) return OTHER;
    this.models.add(model);
    return model;
  }
}
