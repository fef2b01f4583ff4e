import { Inject, Injectable, Logger } from '@nestjs/common';
import { type WorkerStatus, type WorkerType } from '@smg/protocol';
import {
  WORKER_EVENTS,
  type WorkerDirectory,
  type WorkerEvents,
  type WorkerView,
} from '@smg/plugin-api';
import { type BreakerState } from './core/circuit-breaker';
import { Worker } from './core/worker';
import { type WorkerDefinition } from './core/worker-definition';
import { type WorkerPool } from './core/worker-pool';
import { WorkerTable } from './core/worker-table';
import { REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';

/** Told of every breaker transition of a registered worker. */
export type BreakerListener = (worker: Worker, from: BreakerState, to: BreakerState) => void;

/** Told of every probe of a registered worker. */
export type ProbeListener = (worker: Worker, isSuccess: boolean) => void;

/** WORKER_DIRECTORY, and the only place that changes it; every change becomes an event. */
@Injectable()
export class WorkerRegistry implements WorkerDirectory {
  readonly #log = new Logger('registry');
  readonly #table: WorkerTable;
  readonly #breakerListeners: BreakerListener[] = [];
  readonly #probeListeners: ProbeListener[] = [];
  /** Why the probe that is being applied failed. */
  #probeFault: string | undefined;

  constructor(
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
  ) {
    this.#table = new WorkerTable(runtime.clock, {
      statusChanged: (worker, from, to) => {
        this.#statusChanged(worker, from, to);
      },
      breakerChanged: (worker, from, to) => {
        this.#breakerChanged(worker, from, to);
      },
    });
  }

  get epoch(): number {
    return this.#table.epoch;
  }

  /** Registered workers. */
  get total(): number {
    return this.#table.all().length;
  }

  /** Workers that could take a request. */
  get readyCount(): number {
    let count = 0;
    for (const worker of this.#table.all()) if (worker.isReady) count++;
    return count;
  }

  all(): readonly Worker[] {
    return this.#table.all();
  }

  byId(id: string): Worker | undefined {
    return this.#table.byId(id);
  }

  byUrl(url: string): Worker | undefined {
    return this.#table.byUrl(url);
  }

  byKey(key: string): Worker | undefined {
    return this.#table.byKey(key);
  }

  pool(model: string, workerType?: WorkerType): WorkerPool | undefined {
    return this.#table.pool(model, workerType);
  }

  /** The registry's own object behind a view that a filter or a policy handed back. */
  workerOf(view: WorkerView): Worker | undefined {
    return view instanceof Worker ? view : this.#table.byId(view.id);
  }

  credentialOf(view: WorkerView): string | undefined {
    return this.#table.credentialOf(view);
  }

  /** Adds a worker; listeners hear of it before it can be routed to. */
  register(id: string, definition: WorkerDefinition): Worker {
    const worker = this.#table.add(id, definition);
    this.#log.log(`registered ${worker.url} id=${worker.id} model=${worker.modelId}`);
    this.events.emit({ kind: 'registered', worker });
    return worker;
  }

  replace(worker: Worker, definition: WorkerDefinition): void {
    const previousLabels = worker.labels;
    const previousModelId = worker.modelId;
    this.#table.redefine(worker, definition);
    this.#log.log(`replaced ${worker.url} id=${worker.id} revision=${worker.revision}`);
    this.events.emit({ kind: 'replaced', worker, previousLabels, previousModelId });
    if (definition.settings.health.isDisabled) worker.activate();
  }

  remove(worker: Worker): void {
    if (!this.#table.remove(worker)) return;
    this.#log.log(`removed ${worker.url} id=${worker.id}`);
    this.events.emit({ kind: 'removed', worker });
  }

  has(worker: Worker): boolean {
    return this.#table.has(worker);
  }

  /** A new worker id. */
  newId(): string {
    return this.runtime.newId();
  }

  /** One health probe of a worker. @param fault why it failed; undefined for a success. */
  recordProbe(worker: Worker, fault: string | undefined): void {
    const isSuccess = fault === undefined;
    for (const listener of this.#probeListeners) listener(worker, isSuccess);
    this.#probeFault = fault;
    worker.recordProbe(isSuccess);
    this.#probeFault = undefined;
  }

  onProbe(listener: ProbeListener): void {
    this.#probeListeners.push(listener);
  }

  onBreakerTransition(listener: BreakerListener): void {
    this.#breakerListeners.push(listener);
  }

  #statusChanged(worker: Worker, from: WorkerStatus, to: WorkerStatus): void {
    const why = this.#probeFault === undefined ? '' : `: ${this.#probeFault}`;
    const line = `${worker.url} ${from} -> ${to}${why}`;
    if (to === 'not_ready' || to === 'failed') this.#log.warn(line);
    else this.#log.log(line);
    this.events.emit({ kind: 'status_changed', worker, from, to });
  }

  #breakerChanged(worker: Worker, from: BreakerState, to: BreakerState): void {
    this.#log.warn(`circuit breaker of ${worker.url} ${from} -> ${to}`);
    for (const listener of this.#breakerListeners) listener(worker, from, to);
  }
}
