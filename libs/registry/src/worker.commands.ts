import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { type WorkerInfoWire, type WorkerSpecWire } from '@smg/protocol';
import { JobQueue, JobSuperseded, type Job } from './core/job-queue';
import { Reservations, type Reservation } from './core/reservations';
import { patchSpec, type WorkerPatchWire } from './core/spec-merge';
import { isUuid } from './core/uuid-v7';
import { type Worker } from './core/worker';
import {
  badRequest,
  queueUnavailable,
  workerExists,
  workerNotFound,
} from './core/worker-api-error';
import { type WorkerDefinition } from './core/worker-definition';
import { pendingInfo, workerInfo } from './core/worker-info';
import { parseWorkerUrl, type WorkerAddress } from './core/worker-url';
import { RegistrationWorkflow } from './registration.workflow';
import { SpecGate } from './spec.gate';
import { WorkerRegistry } from './worker.registry';
import { WorkerRemover } from './worker.remover';

/** What was accepted: the work itself runs in the job queue. */
export interface AcceptedWorker {
  readonly id: string;
  readonly url: string;
}

/**
 * Everything that is done *to* the registry, for the API, for start-up and for discovery. Each
 * command checks at once and queues the work; jobs of one URL never overlap.
 */
@Injectable()
export class WorkerCommands implements BeforeApplicationShutdown {
  readonly #log = new Logger('registry');
  readonly #reservations = new Reservations();
  readonly #addListeners: ((id: string) => void)[] = [];

  constructor(
    private readonly queue: JobQueue,
    private readonly gate: SpecGate,
    private readonly registry: WorkerRegistry,
    private readonly workflow: RegistrationWorkflow,
    private readonly remover: WorkerRemover,
  ) {
    queue.onExpired((key) => {
      this.#reservations.release(key);
    });
  }

  beforeApplicationShutdown(): void {
    this.queue.close();
  }

  /** Create only. @throws WorkerApiError */
  add(spec: WorkerSpecWire): AcceptedWorker {
    const address = this.gate.addressOf(spec);
    const taken = this.#registered(address);
    if (taken !== undefined && taken.status !== 'draining') throw workerExists(taken.url, taken.id);
    const reserved = this.#reservations.byKey(address.key);
    if (reserved !== undefined && !reserved.hasFailed) {
      throw workerExists(reserved.address.url, reserved.id);
    }
    return this.#enqueueAdd(reserved?.id ?? this.registry.newId(), spec, address);
  }

  /** Adds, or replaces the worker of the same URL. @throws WorkerApiError */
  upsert(spec: WorkerSpecWire): AcceptedWorker {
    const address = this.gate.addressOf(spec);
    const taken = this.registry.byKey(address.key);
    if (taken !== undefined && taken.status !== 'draining') return this.replace(taken.id, spec);
    const reserved = this.#reservations.byKey(address.key);
    if (reserved !== undefined && !reserved.hasFailed) {
      return { id: reserved.id, url: reserved.address.url };
    }
    return this.#enqueueAdd(reserved?.id ?? this.registry.newId(), spec, address);
  }

  /** Adds; a worker that is there already, or on its way, is left as it is. @throws WorkerApiError */
  ensure(spec: WorkerSpecWire): AcceptedWorker {
    const address = this.gate.addressOf(spec);
    const taken = this.#registered(address);
    if (taken !== undefined && taken.status !== 'draining') return taken;
    const reserved = this.#reservations.byKey(address.key);
    if (reserved !== undefined && !reserved.hasFailed) {
      return { id: reserved.id, url: reserved.address.url };
    }
    return this.#enqueueAdd(reserved?.id ?? this.registry.newId(), spec, address);
  }

  /** Replaces the whole specification; a key that is left out is kept, since it cannot be read back. */
  replace(idOrUrl: string, given: WorkerSpecWire): AcceptedWorker {
    const worker = this.#resolve(idOrUrl);
    if (this.gate.isDpAware) throw badRequest('PUT is not supported with --dp-aware');
    const address = this.gate.addressOf(given);
    if (address.key !== worker.key) {
      throw badRequest(`url differs from that of worker ${worker.id}: ${worker.url}`);
    }
    if (worker.status === 'draining') throw badRequest(`worker ${worker.id} is being removed`);
    const apiKey = given.api_key ?? worker.apiKey;
    const spec = apiKey === undefined ? given : { ...given, api_key: apiKey };
    this.queue.supersede(worker.key, ['UpdateWorker']);
    this.#submit({
      type: 'UpdateWorker',
      key: worker.key,
      url: worker.url,
      run: async (signal, note) => {
        const { address } = worker.definition;
        const [definition] = await this.workflow.prepare(spec, address, signal, note);
        if (definition === undefined) return;
        this.#land(worker, definition);
        worker.activate();
      },
    });
    return worker;
  }

  patch(idOrUrl: string, patch: WorkerPatchWire): AcceptedWorker {
    const worker = this.#resolve(idOrUrl);
    this.#submit({
      type: 'UpdateWorker',
      key: worker.key,
      url: worker.url,
      run: () => {
        const spec = patchSpec(worker, patch);
        this.#land(worker, this.gate.define(spec, worker.definition.address));
        return Promise.resolve();
      },
    });
    return worker;
  }

  /**
   * Removes exactly this worker, a rank included; a registration under way is called off. By its URL also
   * the registration that is to take the place of a worker that still drains.
   */
  remove(idOrUrl: string): { readonly id: string } {
    const worker = this.#lookup(idOrUrl);
    if (worker === undefined) return this.#callOff(this.#reservation(idOrUrl));
    const next = isUuid(idOrUrl) ? undefined : this.#reservations.byKey(worker.key);
    if (next !== undefined) this.#callOff(next);
    this.queue.supersede(worker.key, ['UpdateWorker']);
    if (this.remover.hurry(worker)) return worker;
    this.#submit({
      type: 'RemoveWorker',
      key: worker.key,
      url: worker.url,
      run: () => this.remover.remove([worker]),
    });
    return worker;
  }

  find(idOrUrl: string): WorkerInfoWire {
    const worker = this.#lookup(idOrUrl);
    if (worker !== undefined) return workerInfo(worker, this.queue.status(worker.key));
    const { id, spec, address } = this.#reservation(idOrUrl);
    return pendingInfo(id, { ...spec, url: address.url }, this.queue.status(address.key));
  }

  /** As {@link find}, but undefined for a worker that is not there. @param id a UUID. */
  stateOf(id: string): WorkerInfoWire | undefined {
    const isKnown = this.registry.byId(id) ?? this.#reservations.byId(id);
    return isKnown === undefined ? undefined : this.find(id);
  }

  /** Told of every registration that has ended, however. */
  onAddSettled(listener: (id: string) => void): void {
    this.#addListeners.push(listener);
  }

  /** @param model keeps workers that serve the name, wildcard workers included. */
  list(model?: string): readonly WorkerInfoWire[] {
    return this.registry
      .all()
      .filter(
        (worker) =>
          model === undefined || worker.definition.models.length === 0 || worker.serves(model),
      )
      .map((worker) => workerInfo(worker, this.queue.status(worker.key)));
  }

  #enqueueAdd(id: string, spec: WorkerSpecWire, address: WorkerAddress): AcceptedWorker {
    const reservation: Reservation = { id, spec, address, hasFailed: false };
    this.#reservations.hold(reservation);
    try {
      this.#submit({
        type: 'AddWorker',
        key: address.key,
        url: address.url,
        run: async (signal, note) => {
          this.#register(id, await this.workflow.prepare(spec, address, signal, note));
        },
        settled: (error) => {
          this.#addSettled(reservation, error);
          for (const listener of this.#addListeners) listener(id);
        },
      });
    } catch (error) {
      this.#reservations.release(address.key);
      throw error;
    }
    return { id, url: address.url };
  }

  #register(id: string, definitions: readonly WorkerDefinition[]): void {
    const isTaken = definitions.some(({ address }) => this.registry.byKey(address.key));
    if (isTaken) throw new Error('a worker with this URL was registered meanwhile');
    definitions.forEach((definition, index) => {
      this.registry.register(index === 0 ? id : this.registry.newId(), definition).activate();
    });
  }

  #addSettled(reservation: Reservation, error: unknown): void {
    const { key, url } = reservation.address;
    if (error === undefined || error instanceof JobSuperseded) {
      // Called off and asked for again meanwhile: then the URL is reserved for the newer request.
      if (this.#reservations.byKey(key) === reservation) this.#reservations.release(key);
      return;
    }
    reservation.hasFailed = true;
    this.#log.warn(`registration of ${url} failed: ${error instanceof Error ? error.message : ''}`);
  }

  /** A removal that came meanwhile wins: nothing is brought back. */
  #land(worker: Worker, definition: WorkerDefinition): void {
    if (this.registry.has(worker) && worker.status !== 'draining') {
      this.registry.replace(worker, definition);
    }
  }

  #callOff(reservation: Reservation): { readonly id: string } {
    const { key } = reservation.address;
    this.queue.supersede(key, ['AddWorker']);
    this.queue.forget(key);
    this.#reservations.release(key);
    for (const listener of this.#addListeners) listener(reservation.id);
    return reservation;
  }

  #submit(job: Job): void {
    const refusal = this.queue.submit(job);
    if (refusal !== undefined) throw queueUnavailable(refusal);
  }

  /** With ranks routed to one by one, an engine is registered as soon as one of its ranks is. */
  #registered(address: WorkerAddress): Worker | undefined {
    const exact = this.registry.byKey(address.key);
    if (exact !== undefined || !this.gate.isDpAware || address.rank !== undefined) return exact;
    return this.registry
      .all()
      .find((worker) => worker.baseKey === address.baseKey && worker.dpRank !== undefined);
  }

  /** @throws WorkerApiError 400 for neither a UUID nor a URL. */
  #lookup(idOrUrl: string): Worker | undefined {
    if (isUuid(idOrUrl)) return this.registry.byId(idOrUrl.toLowerCase());
    if (!idOrUrl.includes('://'))
      throw badRequest('worker id must be a UUID or a percent-encoded worker URL');
    return this.registry.byUrl(idOrUrl);
  }

  #resolve(idOrUrl: string): Worker {
    const worker = this.#lookup(idOrUrl);
    if (worker === undefined) throw this.#missing(idOrUrl);
    return worker;
  }

  #reservation(idOrUrl: string): Reservation {
    const parsed = isUuid(idOrUrl) ? undefined : parseWorkerUrl(idOrUrl);
    const found =
      parsed?.ok === true
        ? this.#reservations.byKey(parsed.address.key)
        : this.#reservations.byId(idOrUrl.toLowerCase());
    if (found === undefined) throw this.#missing(idOrUrl);
    return found;
  }

  /** Names an id only: a URL that is not ours may hold a password. */
  #missing(idOrUrl: string): Error {
    return workerNotFound(isUuid(idOrUrl) ? idOrUrl : 'with this URL');
  }
}
