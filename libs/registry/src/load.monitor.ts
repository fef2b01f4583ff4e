import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  WORKER_EVENTS,
  type WorkerEvent,
  type WorkerEvents,
  type WorkerLoadReport,
  type WorkerLoads,
  type WorkerView,
} from '@smg/plugin-api';
import { type EngineRank } from './core/engine-load';
import { LoadGroups, type LoadGroup } from './core/load-groups';
import { ranksOf, reportOf } from './core/load-report';
import { isOverloaded } from './core/overload';
import { type RegistryOptions } from './core/registry-options';
import { type Worker } from './core/worker';
import { LoadFetcher, type FetchedLoad } from './load.fetcher';
import { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerRegistry } from './worker.registry';

/** Engines asked at the same time. */
const MAX_PARALLEL = 32;
/** An interval is stretched or shrunk by up to this share, so that gateways do not ask in step. */
const JITTER = 0.1;

/** What a worker last said. */
export interface LoadEntry {
  readonly worker: Worker;
  readonly group: LoadGroup;
  report: WorkerLoadReport | undefined;
  /** The ranks `report` sums up. */
  ranks: readonly EngineRank[];
  sequence: number;
}

/**
 * WORKER_LOADS. Polls the engines of a group (model, role, transport) together while somebody needs
 * their reports, and flags overloaded workers. Law: SMG contract 3.9. A group nobody needs costs
 * nothing: no timer, no call.
 */
@Injectable()
export class LoadMonitor implements WorkerLoads, OnModuleInit, BeforeApplicationShutdown {
  readonly #log = new Logger('load-monitor');
  readonly #entries = new Map<WorkerView, LoadEntry>();
  /** Entries by base key: ranks of one engine share its answer. */
  readonly #engines = new Map<string, Set<LoadEntry>>();
  readonly #groups: LoadGroups;
  /** Base keys of engines that wait for their turn. */
  readonly #due = new Set<string>();
  /** Engines that are being asked, by base key. */
  readonly #polls = new Map<string, symbol>();
  /** Engines whose last poll failed; each failure is told once. */
  readonly #silent = new Set<string>();
  #isStopped = false;
  #unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(REGISTRY_OPTIONS) options: RegistryOptions,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly registry: WorkerRegistry,
    private readonly fetcher: LoadFetcher,
  ) {
    const { isWanted, engineMetrics } = options.loads;
    this.#groups = new LoadGroups(isWanted || engineMetrics);
  }

  onModuleInit(): void {
    this.#unsubscribe = this.events.subscribe((event) => {
      this.#follow(event);
    });
  }

  beforeApplicationShutdown(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#due.clear();
    for (const { group } of this.#entries.values()) stop(group);
  }

  /** Asking for a report is what makes a group wanted. */
  reportOf(view: WorkerView): WorkerLoadReport | undefined {
    const entry = this.entryOf(view);
    if (entry === undefined) return undefined;
    if (!entry.group.isWanted) this.#want(entry.group);
    return entry.report;
  }

  /** What is known of a worker, without asking for more. */
  entryOf(view: WorkerView): LoadEntry | undefined {
    const direct = this.#entries.get(view);
    if (direct !== undefined) return direct;
    const worker = this.registry.workerOf(view);
    return worker === undefined ? undefined : this.#entries.get(worker);
  }

  entries(): Iterable<LoadEntry> {
    return this.#entries.values();
  }

  #follow(event: WorkerEvent): void {
    if (event.kind === 'weights_changed') return;
    const worker = this.registry.workerOf(event.worker);
    if (worker === undefined) return;
    if (event.kind === 'removed') this.#leave(worker);
    else if (event.kind !== 'status_changed') this.#join(worker);
    else if (event.to === 'ready') this.#arrive(worker);
    else this.#clear(worker);
  }

  /** A new or a changed worker. */
  #join(worker: Worker): void {
    if (worker.connectionMode !== 'http') return;
    const entry = this.#entryFor(worker);
    // Limits may have changed with the definition.
    worker.setOverloaded(isOverloaded(worker.settings.overload, entry.report));
    if (worker.settings.overload !== undefined) this.#want(entry.group);
    this.#arrive(worker);
  }

  #entryFor(worker: Worker): LoadEntry {
    const previous = this.#entries.get(worker);
    const group = this.#groups.of(worker);
    if (previous?.group === group) return previous;
    this.#leave(worker);
    const sequence = previous?.sequence ?? 0;
    const entry: LoadEntry = { worker, group, report: undefined, ranks: [], sequence };
    group.workers.add(worker);
    this.#entries.set(worker, entry);
    const engine = this.#engines.get(worker.baseKey);
    if (engine === undefined) this.#engines.set(worker.baseKey, new Set([entry]));
    else engine.add(entry);
    return entry;
  }

  #leave(worker: Worker): void {
    const entry = this.#entries.get(worker);
    if (entry === undefined) return;
    this.#clear(worker);
    this.#entries.delete(worker);
    const { group } = entry;
    group.workers.delete(worker);
    if (group.workers.size === 0) {
      stop(group);
      this.#groups.delete(group);
    }
    const { baseKey } = worker;
    const engine = this.#engines.get(baseKey);
    engine?.delete(entry);
    if (engine?.size !== 0) return;
    this.#engines.delete(baseKey);
    this.#due.delete(baseKey);
    this.#polls.delete(baseKey);
    this.#silent.delete(baseKey);
  }

  /** A worker that may be asked from now on does not wait for the next round. */
  #arrive(worker: Worker): void {
    const group = this.#entries.get(worker)?.group;
    if (group?.isWanted !== true) return;
    this.#enqueue(worker);
    if (!group.isScheduled) this.#schedule(group);
    this.#pump();
  }

  #want(group: LoadGroup): void {
    if (this.#isStopped || group.isWanted) return;
    group.isWanted = true;
    this.#round(group);
  }

  #round(group: LoadGroup): void {
    for (const worker of group.workers) this.#enqueue(worker);
    this.#schedule(group);
    this.#pump();
  }

  #schedule(group: LoadGroup): void {
    let intervalMs = Number.POSITIVE_INFINITY;
    for (const { settings } of group.workers) {
      intervalMs = Math.min(intervalMs, settings.loadIntervalMs);
    }
    if (this.#isStopped || intervalMs === Number.POSITIVE_INFINITY) return;
    const drift = 1 + JITTER * (2 * this.runtime.random() - 1);
    group.cancel();
    group.isScheduled = true;
    group.cancel = this.runtime.clock.after(intervalMs * drift, () => {
      this.#round(group);
    });
  }

  #enqueue(worker: Worker): void {
    if (worker.status === 'ready' && !this.#isStopped) this.#due.add(worker.baseKey);
  }

  #pump(): void {
    for (const baseKey of this.#due) {
      if (this.#polls.size >= MAX_PARALLEL) return;
      this.#due.delete(baseKey);
      // Still being asked since the last round: that answer will do.
      const worker = this.#polls.has(baseKey) ? undefined : this.#readyAt(baseKey);
      if (worker !== undefined) void this.#poll(worker);
    }
  }

  #readyAt(baseKey: string): Worker | undefined {
    for (const { worker } of this.#engines.get(baseKey) ?? []) {
      if (worker.status === 'ready') return worker;
    }
    return undefined;
  }

  async #poll(worker: Worker): Promise<void> {
    const { baseKey } = worker;
    const poll = Symbol(baseKey);
    this.#polls.set(baseKey, poll);
    const fetched = await this.fetcher.fetch(worker);
    // Otherwise every worker of the engine has left meanwhile, and perhaps come back.
    if (this.#polls.get(baseKey) === poll) {
      this.#polls.delete(baseKey);
      if (!this.#isStopped) this.#apply(worker, fetched);
    }
    this.#pump();
  }

  #apply({ baseKey, baseUrl }: Worker, fetched: FetchedLoad): void {
    let isWatched = false;
    for (const entry of this.#engines.get(baseKey) ?? []) {
      if (entry.worker.status !== 'ready') continue;
      isWatched = true;
      if (fetched.ok) this.#take(entry, fetched.ranks);
      else this.#clear(entry.worker);
    }
    if (!isWatched) return;
    if (fetched.ok) {
      if (this.#silent.delete(baseKey)) this.#log.log(`${baseUrl} reports its load again`);
    } else if (!this.#silent.has(baseKey)) {
      this.#silent.add(baseKey);
      this.#log.warn(`no load report of ${baseUrl}: ${fetched.reason}`);
    }
  }

  #take(entry: LoadEntry, ranks: readonly EngineRank[]): void {
    const { worker } = entry;
    entry.ranks = ranksOf(ranks, worker.dpRank);
    entry.report = reportOf(entry.ranks, ++entry.sequence);
    const wasOverloaded = worker.isOverloaded;
    worker.setOverloaded(isOverloaded(worker.settings.overload, entry.report));
    if (worker.isOverloaded === wasOverloaded) return;
    const { waitingRequests, tokenUsage } = entry.report;
    const figures = `${waitingRequests} waiting, KV use ${tokenUsage.toFixed(2)}`;
    if (worker.isOverloaded) this.#log.warn(`${worker.url} is overloaded: ${figures}`);
    else this.#log.log(`${worker.url} is no longer overloaded: ${figures}`);
  }

  #clear(worker: Worker): void {
    const entry = this.#entries.get(worker);
    if (entry !== undefined) {
      entry.report = undefined;
      entry.ranks = [];
    }
    worker.setOverloaded(false);
  }
}

function stop(group: LoadGroup): void {
  group.cancel();
  group.isScheduled = false;
}
