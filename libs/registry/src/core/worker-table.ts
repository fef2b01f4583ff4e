import { type WorkerStatus, type WorkerType } from '@smg/protocol';
import { type WorkerDirectory, type WorkerView } from '@smg/plugin-api';
import { type BreakerState } from './circuit-breaker';
import { type Clock } from './clock';
import { ModelIndex } from './model-index';
import { Worker, type WorkerOwner } from './worker';
import { type WorkerDefinition } from './worker-definition';
import { type PoolHost, type WorkerPool } from './worker-pool';
import { parseWorkerUrl } from './worker-url';

/** Told of what happened, after the table is consistent again. */
export interface TableListener {
  statusChanged(worker: Worker, from: WorkerStatus, to: WorkerStatus): void;
  breakerChanged(worker: Worker, from: BreakerState, to: BreakerState): void;
}

/**
 * The registered workers and one index per question asked of them. Membership and availability
 * share one epoch, so that a pool's common path is one comparison.
 */
export class WorkerTable implements WorkerDirectory, WorkerOwner, PoolHost {
  epoch = 0;
  definitionEpoch = 0;
  nextLookAt = Number.POSITIVE_INFINITY;
  #sequence = 0;
  #all: readonly Worker[] = Object.freeze([]);
  readonly #byId = new Map<string, Worker>();
  readonly #byKey = new Map<string, Worker>();
  readonly #index = new ModelIndex(this);

  constructor(
    private readonly clock: Clock,
    private readonly listener: TableListener,
  ) {}

  all(): readonly Worker[] {
    return this.#all;
  }

  byId(id: string): Worker | undefined {
    return this.#byId.get(id);
  }

  credentialOf(view: WorkerView): string | undefined {
    return this.byId(view.id)?.apiKey;
  }

  byUrl(url: string): Worker | undefined {
    const direct = this.#byKey.get(url);
    if (direct !== undefined) return direct;
    const parsed = parseWorkerUrl(url);
    return parsed.ok ? this.#byKey.get(parsed.address.key) : undefined;
  }

  byKey(key: string): Worker | undefined {
    return this.#byKey.get(key);
  }

  /** The workers of one role; regular ones when no role is named. */
  pool(model: string, workerType: WorkerType = 'regular'): WorkerPool | undefined {
    return this.#index.pool(model, workerType);
  }

  /** @throws Error when id or URL is taken: callers decide about that before. */
  add(id: string, definition: WorkerDefinition): Worker {
    const { key } = definition.address;
    if (this.#byId.has(id) || this.#byKey.has(key)) throw new Error('worker is already registered');
    const worker = new Worker(id, this.#sequence++, definition, this.clock);
    worker.attach(this);
    this.#byId.set(id, worker);
    this.#byKey.set(key, worker);
    this.#all = Object.freeze([...this.#all, worker]);
    this.#index.put(worker);
    this.epoch++;
    return worker;
  }

  /** The definition must be of the same URL. */
  redefine(worker: Worker, definition: WorkerDefinition): void {
    worker.redefine(definition);
    this.#index.put(worker);
    this.definitionEpoch++;
    this.epoch++;
  }

  /** @returns whether the worker was there. */
  remove(worker: Worker): boolean {
    if (this.#byId.get(worker.id) !== worker) return false;
    this.#byId.delete(worker.id);
    this.#byKey.delete(worker.key);
    this.#all = Object.freeze(this.#all.filter((other) => other !== worker));
    this.#index.delete(worker);
    worker.attach(undefined);
    this.epoch++;
    return true;
  }

  has(worker: Worker): boolean {
    return this.#byId.get(worker.id) === worker;
  }

  lookAgain(): void {
    const now = this.clock.now();
    if (now < this.nextLookAt) return;
    let next = Number.POSITIVE_INFINITY;
    for (const worker of this.#all) {
      if (!worker.breaker.look(now)) next = Math.min(next, worker.lookAgainAt);
    }
    this.nextLookAt = next;
  }

  availabilityChanged(_worker: Worker): void {
    this.epoch++;
  }

  breakerChanged(worker: Worker, from: BreakerState, to: BreakerState): void {
    if (to === 'open' || from === 'open') this.epoch++;
    if (worker.lookAgainAt < this.nextLookAt) this.nextLookAt = worker.lookAgainAt;
    this.listener.breakerChanged(worker, from, to);
  }

  statusChanged(worker: Worker, from: WorkerStatus, to: WorkerStatus): void {
    this.listener.statusChanged(worker, from, to);
  }
}
