import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  METRICS,
  WORKER_EVENTS,
  type CounterCell,
  type GaugeCell,
  type MetricFamily,
  type Metrics,
  type WorkerEvents,
} from '@smg/plugin-api';
import { type BreakerState } from './core/circuit-breaker';
import { type Worker } from './core/worker';
import { WorkerRegistry } from './worker.registry';

const BREAKER_VALUES: Readonly<Record<BreakerState, number>> = { closed: 0, open: 1, half_open: 2 };

/** Outcomes already added to the counters, per worker. */
interface Exported {
  successes: number;
  failures: number;
}

/**
 * The `smg_worker_*` series. Gauges and outcome counts are read off the workers at scrape, so the
 * data path pays plain additions only; a removed worker's series go with it.
 */
@Injectable()
export class WorkerMetrics implements OnModuleInit {
  readonly #poolSize: MetricFamily<GaugeCell>;
  readonly #connections: MetricFamily<GaugeCell>;
  readonly #perWorker: Readonly<Record<PerWorkerGauge, MetricFamily<GaugeCell>>>;
  readonly #transitions: MetricFamily<CounterCell>;
  readonly #outcomes: MetricFamily<CounterCell>;
  readonly #checks: MetricFamily<CounterCell>;
  readonly #exported = new Map<Worker, Exported>();
  #models = new Set<string>();
  #kinds = new Set<string>();

  constructor(
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly registry: WorkerRegistry,
  ) {
    const gauge = (name: string, help: string): MetricFamily<GaugeCell> =>
      metrics.gauge({ name, help, labels: ['worker'] });
    this.#poolSize = metrics.gauge({
      name: 'smg_worker_pool_size',
      help: 'Registered workers',
      labels: ['worker_type', 'connection_mode', 'model'],
    });
    this.#connections = metrics.gauge({
      name: 'smg_worker_connections_active',
      help: 'Requests in flight to workers of a kind',
      labels: ['worker_type', 'connection_mode'],
    });
    this.#perWorker = {
      health: gauge('smg_worker_health', '1 when the worker is ready, else 0'),
      requests: gauge('smg_worker_requests_active', 'Requests in flight to the worker'),
      keys: gauge(
        'smg_worker_routing_keys_active',
        'Distinct routing keys in flight to the worker',
      ),
      breaker: gauge('smg_worker_cb_state', 'Breaker: 0 closed, 1 open, 2 half-open'),
      failures: gauge('smg_worker_cb_consecutive_failures', 'Failures in a row'),
      successes: gauge('smg_worker_cb_consecutive_successes', 'Successes in a row'),
    };
    this.#transitions = metrics.counter({
      name: 'smg_worker_cb_transitions_total',
      help: 'Breaker transitions',
      labels: ['worker', 'from', 'to'],
    });
    this.#outcomes = metrics.counter({
      name: 'smg_worker_cb_outcomes_total',
      help: 'Attempts as the breaker judged them',
      labels: ['worker', 'outcome'],
    });
    this.#checks = metrics.counter({
      name: 'smg_worker_health_checks_total',
      help: 'Health probes',
      labels: ['worker_type', 'result'],
    });
  }

  onModuleInit(): void {
    this.registry.onBreakerTransition((worker, from, to) => {
      this.#transitions.cell(worker.url, from, to).inc();
    });
    this.registry.onProbe((worker, isSuccess) => {
      this.#checks.cell(worker.workerType, isSuccess ? 'success' : 'failure').inc();
    });
    this.events.subscribe((event) => {
      if (event.kind === 'removed') this.#forget(event.worker.url);
    });
    this.metrics.onCollect(() => {
      this.#refresh();
    });
  }

  #forget(url: string): void {
    for (const family of Object.values(this.#perWorker)) family.forget('worker', url);
    this.#transitions.forget('worker', url);
    this.#outcomes.forget('worker', url);
  }

  #refresh(): void {
    const workers = this.registry.all();
    for (const worker of this.#exported.keys()) {
      if (!this.registry.has(worker)) this.#exported.delete(worker);
    }
    for (const worker of workers) {
      this.#refreshWorker(worker);
      this.#addOutcomes(worker);
    }
    this.#refreshPools(workers);
  }

  #refreshWorker(worker: Worker): void {
    const { url, breaker } = worker;
    const families = this.#perWorker;
    families.health.cell(url).set(worker.status === 'ready' ? 1 : 0);
    families.requests.cell(url).set(worker.load);
    families.keys.cell(url).set(worker.keysInFlight);
    families.breaker.cell(url).set(BREAKER_VALUES[breaker.state]);
    families.failures.cell(url).set(breaker.consecutiveFailures);
    families.successes.cell(url).set(breaker.consecutiveSuccesses);
  }

  #addOutcomes(worker: Worker): void {
    const seen = this.#exported.get(worker) ?? { successes: 0, failures: 0 };
    const successes = worker.successCount - seen.successes;
    const failures = worker.failureCount - seen.failures;
    if (successes > 0) this.#outcomes.cell(worker.url, 'success').inc(successes);
    if (failures > 0) this.#outcomes.cell(worker.url, 'failure').inc(failures);
    seen.successes += successes;
    seen.failures += failures;
    this.#exported.set(worker, seen);
  }

  #refreshPools(workers: readonly Worker[]): void {
    const sizes = new Map<string, [labels: string[], size: number]>();
    const loads = new Map<string, [labels: string[], load: number]>();
    for (const { workerType, connectionMode, modelId, load } of workers) {
      add(sizes, [workerType, connectionMode, modelId], 1);
      add(loads, [workerType, connectionMode], load);
    }
    for (const model of this.#models) this.#poolSize.forget('model', model);
    for (const type of this.#kinds) this.#connections.forget('worker_type', type);
    for (const [labels, size] of sizes.values()) this.#poolSize.cell(...labels).set(size);
    for (const [labels, load] of loads.values()) this.#connections.cell(...labels).set(load);
    this.#models = new Set(workers.map((worker) => worker.modelId));
    this.#kinds = new Set(workers.map((worker) => worker.workerType));
  }
}

type PerWorkerGauge = 'health' | 'requests' | 'keys' | 'breaker' | 'failures' | 'successes';

function add(into: Map<string, [string[], number]>, labels: string[], by: number): void {
  const key = labels.join('\n');
  const entry = into.get(key);
  if (entry === undefined) into.set(key, [labels, by]);
  else entry[1] += by;
}
