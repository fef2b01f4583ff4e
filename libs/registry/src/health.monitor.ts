import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { WORKER_EVENTS, type WorkerEvent, type WorkerEvents } from '@smg/plugin-api';
import { type RegistryOptions } from './core/registry-options';
import { type Worker } from './core/worker';
import { EngineQuestions } from './engine.questions';
import { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerRegistry } from './worker.registry';

/** Probes in flight. Source: SMG contract 3.7. */
const MAX_PARALLEL = 128;
/** A worker that is not ready and just answered is asked again this soon, not an interval later. */
const CONFIRM_MS = 1000;
/** The first wait is shortened by up to this share, so that workers added together drift apart. */
const SPREAD = 0.5;

/** One engine under watch: all ranks of a base URL share its probes. */
interface Watch {
  readonly baseKey: string;
  readonly workers: Set<Worker>;
  readonly abort: AbortController;
  cancelTimer: () => void;
  isProbing: boolean;
  hasProbed: boolean;
}

/** Probes engines and moves their workers through the status machine. Law: SMG contract 3.7. */
@Injectable()
export class HealthMonitor implements OnModuleInit, BeforeApplicationShutdown {
  readonly #watches = new Map<string, Watch>();
  readonly #due: Watch[] = [];
  #probing = 0;
  #isStopped = false;
  #unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly registry: WorkerRegistry,
    private readonly engines: EngineQuestions,
  ) {}

  onModuleInit(): void {
    this.#unsubscribe = this.events.subscribe((event) => {
      this.#follow(event);
    });
  }

  beforeApplicationShutdown(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    for (const watch of this.#watches.values()) this.#end(watch);
    this.#watches.clear();
    this.#due.length = 0;
  }

  #follow(event: WorkerEvent): void {
    if (event.kind === 'weights_changed' || event.kind === 'status_changed') return;
    const worker = this.registry.workerOf(event.worker);
    if (worker === undefined) return;
    if (event.kind === 'removed') this.#unwatch(worker);
    else this.#watch(worker, event.kind === 'replaced');
  }

  #watch(worker: Worker, isReplaced: boolean): void {
    if (worker.settings.health.isDisabled) {
      this.#unwatch(worker);
      return;
    }
    let watch = this.#watches.get(worker.baseKey);
    if (watch === undefined) {
      watch = {
        baseKey: worker.baseKey,
        workers: new Set(),
        abort: new AbortController(),
        cancelTimer: () => undefined,
        isProbing: false,
        hasProbed: false,
      };
      this.#watches.set(worker.baseKey, watch);
    }
    const isNew = !watch.workers.has(worker);
    watch.workers.add(worker);
    if ((isNew || isReplaced) && !watch.isProbing) this.#schedule(watch, 0);
  }

  #unwatch(worker: Worker): void {
    const watch = this.#watches.get(worker.baseKey);
    if (watch?.workers.delete(worker) !== true || watch.workers.size > 0) return;
    this.#watches.delete(watch.baseKey);
    this.#end(watch);
  }

  #end(watch: Watch): void {
    watch.cancelTimer();
    watch.abort.abort();
    const at = this.#due.indexOf(watch);
    if (at !== -1) this.#due.splice(at, 1);
  }

  #schedule(watch: Watch, delayMs: number): void {
    watch.cancelTimer();
    watch.cancelTimer = this.runtime.clock.after(delayMs, () => {
      if (!this.#due.includes(watch)) this.#due.push(watch);
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#probing < MAX_PARALLEL) {
      const watch = this.#due.shift();
      if (watch === undefined) return;
      void this.#probe(watch);
    }
  }

  async #probe(watch: Watch): Promise<void> {
    const [first] = watch.workers;
    if (first === undefined || watch.isProbing) return;
    this.#probing++;
    watch.isProbing = true;
    const isDraining = [...watch.workers].every((worker) => worker.status === 'draining');
    const fault = isDraining ? undefined : await this.#ask(first, watch.abort.signal);
    this.#probing--;
    watch.isProbing = false;
    const isOver = (): boolean => watch.abort.signal.aborted;
    if (!isOver() && !isDraining) this.#apply(watch, fault);
    // Applying may have removed the last worker, which ends the watch.
    if (!isOver()) this.#schedule(watch, this.#nextDelay(watch, fault === undefined));
    if (!this.#isStopped) this.#pump();
  }

  /** @returns undefined when healthy, else why not. */
  async #ask(worker: Worker, signal: AbortSignal): Promise<string | undefined> {
    const contact = {
      baseUrl: worker.baseUrl,
      apiKey: worker.apiKey,
      timeoutMs: worker.settings.health.timeoutMs,
      signal,
    };
    return this.engines.fault(contact, this.options.health.endpoint);
  }

  #apply(watch: Watch, fault: string | undefined): void {
    for (const worker of [...watch.workers]) {
      if (!this.registry.has(worker)) continue;
      this.registry.recordProbe(worker, fault);
      if (worker.status === 'failed' && this.options.removeUnhealthyWorkers) {
        this.registry.remove(worker);
      }
    }
  }

  #nextDelay(watch: Watch, isHealthy: boolean): number {
    const [first] = watch.workers;
    const intervalMs = first?.settings.health.intervalMs ?? CONFIRM_MS;
    if (isHealthy && first !== undefined && isRecovering(first)) {
      return Math.min(intervalMs, CONFIRM_MS);
    }
    if (watch.hasProbed) return intervalMs;
    watch.hasProbed = true;
    return intervalMs * (1 - SPREAD * this.runtime.random());
  }
}

const isRecovering = (worker: Worker): boolean =>
  worker.status === 'not_ready' || worker.status === 'failed' || worker.status === 'pending';
