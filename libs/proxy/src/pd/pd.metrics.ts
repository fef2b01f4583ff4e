import {
  type CounterCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
} from '@smg/plugin-api';
import { type ConnectorMode } from './core/kv-transfer';

/** Models with series of their own; the rest share `other`. */
const MAX_MODELS = 1024;
const LABELS = ['backend_type', 'model', 'runtime'];

/** The `smg_pd_*` series. */
export class PdMetrics {
  private readonly prefill: MetricFamily<HistogramCell>;
  private readonly firstByte: MetricFamily<HistogramCell>;
  private readonly transfer: MetricFamily<HistogramCell>;
  private readonly modes: MetricFamily<CounterCell>;
  private readonly bootstraps: CounterCell;
  private readonly transfers: CounterCell;
  private readonly models = new Set<string>();

  constructor(metrics: Metrics) {
    const seconds = (name: string, help: string): MetricFamily<HistogramCell> =>
      metrics.histogram({ name, help, labels: LABELS });
    this.prefill = seconds(
      'smg_pd_prefill_duration_seconds',
      'From dispatch to the answer of the prefill worker.',
    );
    this.firstByte = seconds(
      'smg_pd_ttft_seconds',
      'From dispatch to the first byte of the decode answer; of a whole answer as well.',
    );
    this.transfer = seconds(
      'smg_pd_kv_transfer_duration_seconds',
      'From the prefill answer to the first byte of decode (vLLM): transfer and first token.',
    );
    this.modes = metrics.counter({
      name: 'smg_pd_kv_connector_mode_total',
      help: 'Requests to vLLM pairs by the way their KV cache is handed over.',
      labels: ['mode'],
    });
    this.bootstraps = metrics
      .counter({
        name: 'smg_pd_bootstrap_failures_total',
        help: 'SGLang pairs of which a worker could not be reached or broke off.',
      })
      .cell();
    this.transfers = metrics
      .counter({
        name: 'smg_pd_kv_transfer_failures_total',
        help: 'Prefill answers of NIXL workers that did not say where the KV cache is.',
      })
      .cell();
  }

  prefilled(model: string, runtime: string, ms: number): void {
    this.prefill.cell('pd', this.labelOf(model), runtime).observe(ms / 1000);
  }

  began(model: string, runtime: string, ms: number): void {
    this.firstByte.cell('pd', this.labelOf(model), runtime).observe(ms / 1000);
  }

  transferred(model: string, runtime: string, ms: number): void {
    this.transfer.cell('pd', this.labelOf(model), runtime).observe(ms / 1000);
  }

  handsOver(mode: ConnectorMode): void {
    this.modes.cell(mode).inc();
  }

  bootstrapFailed(): void {
    this.bootstraps.inc();
  }

  transferFailed(): void {
    this.transfers.inc();
  }

  private labelOf(model: string): string {
    if (this.models.has(model)) return model;
    if (this.models.size >= MAX_MODELS) return 'other';
    this.models.add(model);
    return model;
  }
}
