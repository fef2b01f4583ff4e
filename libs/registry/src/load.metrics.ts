import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  METRICS,
  WORKER_EVENTS,
  type GaugeCell,
  type MetricFamily,
  type Metrics,
  type WorkerEvents,
} from '@smg/plugin-api';
import { type EngineRank } from './core/engine-load';
import { type RegistryOptions } from './core/registry-options';
import { LoadMonitor, type LoadEntry } from './load.monitor';
import { REGISTRY_OPTIONS } from './registry.tokens';

type Figure = (rank: EngineRank) => number | undefined;

/** Gauges per rank. Source: SMG contract 9.4. */
const FIGURES: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['smg_engine_running_requests', 'Requests the engine runs', (it) => it.running],
  ['smg_engine_waiting_requests', 'Requests that wait in the engine', (it) => it.waiting],
  ['smg_engine_token_usage', 'KV-cache use, 0..1', (it) => it.tokenUsage],
  ['smg_engine_gen_throughput', 'Tokens per second', (it) => it.throughput],
  ['smg_engine_cache_hit_rate', 'Share of tokens found in the cache', (it) => it.cacheHitRate],
];
const TRANSFER_FIGURES: typeof FIGURES = [
  [
    'smg_engine_pd_kv_transfer_latency_ms',
    'Latency of KV transfers',
    ({ transfer }) => transfer?.latencyMs,
  ],
  [
    'smg_engine_pd_kv_transfer_speed_gb_s',
    'Speed of KV transfers',
    ({ transfer }) => transfer?.speed,
  ],
  [
    'smg_engine_pd_prefill_queue_reqs',
    'Requests in prefill queues',
    ({ transfer }) => transfer?.prefillQueue,
  ],
  [
    'smg_engine_pd_decode_queue_reqs',
    'Requests in decode queues',
    ({ transfer }) => transfer?.decodeQueue,
  ],
];

interface EngineGauge {
  readonly family: MetricFamily<GaugeCell>;
  readonly figure: Figure;
}

/** `smg_workers_overloaded` and, when asked for, `smg_engine_*`: read off the reports at scrape. */
@Injectable()
export class LoadMetrics implements OnModuleInit {
  readonly #overloaded: MetricFamily<GaugeCell>;
  readonly #figures: readonly EngineGauge[];
  readonly #transfers: readonly EngineGauge[];
  /** Worker URL → the report its series show. */
  readonly #exported = new Map<string, string>();
  #models = new Set<string>();

  constructor(
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    @Inject(REGISTRY_OPTIONS) { loads }: RegistryOptions,
    private readonly monitor: LoadMonitor,
  ) {
    this.#overloaded = metrics.gauge({
      name: 'smg_workers_overloaded',
      help: 'Workers flagged as overloaded, of those with limits',
      labels: ['model'],
    });
    const gauges = (figures: typeof FIGURES, label: string): EngineGauge[] =>
      figures.map(([name, help, figure]) => {
        const labels = ['worker', label, 'dp_rank'];
        return { family: metrics.gauge({ name, help, labels }), figure };
      });
    this.#figures = loads.engineMetrics ? gauges(FIGURES, 'model') : [];
    this.#transfers = loads.engineMetrics ? gauges(TRANSFER_FIGURES, 'role') : [];
  }

  onModuleInit(): void {
    this.events.subscribe((event) => {
      if (event.kind === 'removed') this.#forget(event.worker.url);
    });
    this.metrics.onCollect(() => {
      this.#refresh();
    });
  }

  #refresh(): void {
    const models = new Map<string, number>();
    for (const entry of this.monitor.entries()) {
      const { worker } = entry;
      if (worker.settings.overload !== undefined) {
        const known = models.get(worker.modelId) ?? 0;
        models.set(worker.modelId, known + (worker.isOverloaded ? 1 : 0));
      }
      if (this.#figures.length > 0) this.#export(entry);
    }
    for (const model of this.#models) {
      if (!models.has(model)) this.#overloaded.forget('model', model);
    }
    for (const [model, count] of models) this.#overloaded.cell(model).set(count);
    this.#models = new Set(models.keys());
  }

  /** Ranks, figures and names may come and go with a report, so a new one starts anew. */
  #export({ worker, report, ranks }: LoadEntry): void {
    const shown = report === undefined ? '' : `${report.sequence} ${worker.modelId}`;
    if ((this.#exported.get(worker.url) ?? '') === shown) return;
    this.#forget(worker.url);
    if (report === undefined) return;
    this.#exported.set(worker.url, shown);
    for (const rank of ranks) {
      set(this.#figures, rank, worker.url, worker.modelId);
      if (rank.transfer !== undefined) set(this.#transfers, rank, worker.url, rank.transfer.role);
    }
  }

  #forget(url: string): void {
    if (!this.#exported.delete(url)) return;
    for (const { family } of this.#figures) family.forget('worker', url);
    for (const { family } of this.#transfers) family.forget('worker', url);
  }
}

function set(gauges: readonly EngineGauge[], rank: EngineRank, url: string, label: string): void {
  for (const { family, figure } of gauges) {
    const value = figure(rank);
    if (value !== undefined) family.cell(url, label, String(rank.rank)).set(value);
  }
}
