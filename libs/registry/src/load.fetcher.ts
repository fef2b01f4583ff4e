import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  WORKER_CALLER,
  WORKER_EVENTS,
  type WorkerAnswer,
  type WorkerCaller,
  type WorkerEvent,
  type WorkerEvents,
} from '@smg/plugin-api';
import { readLoadDocument, type EngineRank, type LoadDocument } from './core/engine-load';
import { documentOf, loadsOfMetrics } from './core/loads-of-metrics';
import { type Worker } from './core/worker';
import { failureOf } from './engine.questions';
import { WorkerRegistry } from './worker.registry';

/** Source: SMG contract 3.9. */
const LOADS_PATH = '/v1/loads?include=core,disagg,queues,memory';
const METRICS_PATH = '/metrics';
const TIMEOUT_MS = 5000;
const MAX_LOADS_BYTES = 1024 * 1024;
const MAX_METRICS_BYTES = 8 * 1024 * 1024;
/** The engine has no such route. */
const UNSUPPORTED: ReadonlySet<number> = new Set([404, 405, 501]);

/** What an engine says of its load, or why it says nothing. */
export type FetchedLoad =
  | { readonly ok: true; readonly ranks: readonly EngineRank[]; readonly document: LoadDocument }
  | { readonly ok: false; readonly reason: string };

const GONE: FetchedLoad = { ok: false, reason: 'the worker was removed' };

/** What is known of one engine, by its base URL. */
interface Engine {
  readonly abort: AbortController;
  /** Its `/v1/loads` is missing or means something else: `/metrics` is read instead. */
  hasNoLoads: boolean;
  pending: Promise<FetchedLoad> | undefined;
}

/** Asks engines for their load; whoever asks while a question is under way shares its answer. */
@Injectable()
export class LoadFetcher implements OnModuleInit, BeforeApplicationShutdown {
  readonly #engines = new Map<string, Engine>();
  #unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(WORKER_CALLER) private readonly caller: WorkerCaller,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly registry: WorkerRegistry,
  ) {}

  onModuleInit(): void {
    this.#unsubscribe = this.events.subscribe((event) => {
      this.#follow(event);
    });
  }

  beforeApplicationShutdown(): void {
    this.#unsubscribe();
    for (const engine of this.#engines.values()) engine.abort.abort();
    this.#engines.clear();
  }

  /** Never rejects. */
  fetch(worker: Worker): Promise<FetchedLoad> {
    let engine = this.#engines.get(worker.baseKey);
    if (engine === undefined) {
      // Nobody would ever forget it again.
      if (!this.registry.has(worker)) return Promise.resolve(GONE);

      engine = { abort: new AbortController(), hasNoLoads: false, pending: undefined };
      this.#engines.set(worker.baseKey, engine);
    }
    engine.pending ??= this.#ask(engine, worker);
    return engine.pending;
  }

  #follow(event: WorkerEvent): void {
    if (event.kind === 'weights_changed') return;
    const worker = this.registry.workerOf(event.worker);
    if (worker === undefined) return;
    const engine = this.#engines.get(worker.baseKey);
    if (engine === undefined) return;
    if (event.kind === 'removed') {
      if (this.registry.all().some((other) => other.baseKey === worker.baseKey)) return;
      this.#engines.delete(worker.baseKey);
      engine.abort.abort();
    } else if (event.kind === 'replaced' || (event.kind === 'status_changed' && isReady(event))) {
      // It may be another build now.
      engine.hasNoLoads = false;
    }
  }

  async #ask(engine: Engine, worker: Worker): Promise<FetchedLoad> {
    try {
      const loads = engine.hasNoLoads ? undefined : await this.#askLoads(engine, worker);
      return loads ?? (await this.#askMetrics(engine, worker));
    } catch (error) {
      return { ok: false, reason: failureOf(error) };
    } finally {
      engine.pending = undefined;
    }
  }

  /** @returns undefined when the engine does not speak this. @throws WorkerCallError */
  async #askLoads(engine: Engine, worker: Worker): Promise<FetchedLoad | undefined> {
    const answer = await this.#get(engine, worker, LOADS_PATH, MAX_LOADS_BYTES);
    const { status } = answer;
    if (status === 200 && !answer.truncated) {
      const document = parseJson(answer.body);
      const ranks = readLoadDocument(document);
      if (ranks !== undefined) return { ok: true, ranks, document: document as LoadDocument };
    } else if (!UNSUPPORTED.has(status)) {
      const what = answer.truncated ? 'answer is too large' : `answered ${status}`;
      return { ok: false, reason: `GET /v1/loads: ${what}` };
    }
    engine.hasNoLoads = true;
    return undefined;
  }

  async #askMetrics(engine: Engine, worker: Worker): Promise<FetchedLoad> {
    const answer = await this.#get(engine, worker, METRICS_PATH, MAX_METRICS_BYTES);
    if (answer.status !== 200) {
      return { ok: false, reason: `GET ${METRICS_PATH} answered ${answer.status}` };
    }
    const ranks = answer.truncated ? undefined : loadsOfMetrics(answer.body.toString('utf8'));
    return ranks === undefined
      ? { ok: false, reason: 'neither /v1/loads nor /metrics tells the load' }
      : { ok: true, ranks, document: documentOf(ranks) };
  }

  #get(engine: Engine, worker: Worker, path: string, maxBodyBytes: number): Promise<WorkerAnswer> {
    return this.caller.call({
      baseUrl: worker.baseUrl,
      method: 'GET',
      path,
      apiKey: worker.apiKey,
      timeoutMs: TIMEOUT_MS,
      maxBodyBytes,
      stopsAtLimit: true,
      signal: engine.abort.signal,
    });
  }
}

const isReady = (event: { readonly to: string }): boolean => event.to === 'ready';

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
