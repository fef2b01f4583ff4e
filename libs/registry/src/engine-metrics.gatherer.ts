import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { WORKER_CALLER, type WorkerCaller } from '@smg/plugin-api';
import { ExpositionMerger } from './core/exposition-merger';
import { mapBounded } from './core/map-bounded';
import { type Worker } from './core/worker';
import { REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerRegistry } from './worker.registry';

/** Engines asked at the same time. */
const PARALLEL = 32;
const TIMEOUT_MS = 5000;
/** The page is made of what came until then; under the usual scrape timeout of 10 s. */
const TOTAL_TIMEOUT_MS = 8000;
const MAX_BYTES = 8 * 1024 * 1024;
/** Text taken in for one page, over all engines. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** The route is public: within this time everybody gets the same page, and engines are left alone. */
const FRESH_MS = 1000;
const SOURCE_LABEL = 'worker_addr';

/** What a scrape is answered. */
export type EngineMetricsPage =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

interface Gathering {
  readonly workers: readonly Worker[];
  readonly page: Promise<EngineMetricsPage>;
  /** Undefined while it is under way. */
  endedAt: number | undefined;
}

/** Merges the `/metrics` of every engine into one page. Law: SMG contract 2.5. */
@Injectable()
export class EngineMetricsGatherer implements BeforeApplicationShutdown {
  readonly #log = new Logger('engine-metrics');
  /** Ends of the gatherings under way. */
  readonly #ends = new Set<AbortController>();
  #last: Gathering | undefined;

  constructor(
    @Inject(WORKER_CALLER) private readonly caller: WorkerCaller,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    private readonly registry: WorkerRegistry,
  ) {}

  beforeApplicationShutdown(): void {
    for (const end of this.#ends) end.abort();
    this.#last = undefined;
  }

  /** Never rejects. */
  page(): Promise<EngineMetricsPage> {
    const workers = this.registry.all();
    if (workers.length === 0) {
      return Promise.resolve({ ok: false, message: 'No available workers' });
    }
    const last = this.#last;
    if (last?.workers === workers && this.#isFresh(last)) return last.page;
    const gathering: Gathering = { workers, page: this.#gather(workers), endedAt: undefined };
    this.#last = gathering;
    void gathering.page.then(() => {
      gathering.endedAt = this.runtime.clock.now();
    });
    return gathering.page;
  }

  #isFresh({ endedAt }: Gathering): boolean {
    return endedAt === undefined || this.runtime.clock.now() - endedAt < FRESH_MS;
  }

  async #gather(workers: readonly Worker[]): Promise<EngineMetricsPage> {
    const end = new AbortController();
    this.#ends.add(end);
    const cancel = this.runtime.clock.after(TOTAL_TIMEOUT_MS, () => {
      end.abort();
    });
    const merger = new ExpositionMerger(SOURCE_LABEL);
    const engines = onePerEngine(workers);
    let room = MAX_TOTAL_BYTES;
    let answered = 0;
    // One text at a time: pauses of several at once would fall together.
    let turn: Promise<unknown> = Promise.resolve();
    const take = async (worker: Worker, text: string): Promise<void> => {
      if (await paced(merger.add(worker.baseUrl, text))) return;
      this.#log.warn(`metrics of ${worker.baseUrl} left out: not Prometheus text`);
    };
    await mapBounded(engines, PARALLEL, async (worker) => {
      const text = await this.#ask(worker, end.signal);
      if (text === undefined) return;
      answered++;
      room -= text.length;
      if (room < 0) {
        this.#log.warn(`metrics of ${worker.baseUrl} left out: the page is too large`);
        return;
      }
      turn = turn.then(() => take(worker, text));
      await turn;
    });
    cancel();
    this.#ends.delete(end);
    if (answered === 0) return { ok: false, message: 'All backend requests failed' };
    const parts: string[] = [];
    await paced(merger.render(), (part) => parts.push(part));
    return { ok: true, text: parts.join('') };
  }

  async #ask(worker: Worker, signal: AbortSignal): Promise<string | undefined> {
    try {
      const answer = await this.caller.call({
        baseUrl: worker.baseUrl,
        method: 'GET',
        path: '/metrics',
        apiKey: worker.apiKey,
        timeoutMs: TIMEOUT_MS,
        maxBodyBytes: MAX_BYTES,
        stopsAtLimit: true,
        signal,
      });
      if (answer.status !== 200 || answer.truncated) return undefined;
      return answer.body.toString('utf8');
    } catch {
      return undefined;
    }
  }
}

function onePerEngine(workers: readonly Worker[]): readonly Worker[] {
  const engines = new Map<string, Worker>();
  for (const worker of workers) {
    if (!engines.has(worker.baseKey)) engines.set(worker.baseKey, worker);
  }
  return [...engines.values()];
}

/** Runs work that pauses, letting others run in each pause. */
async function paced<T, R>(
  work: Generator<T, R>,
  take: (part: T) => void = () => undefined,
): Promise<R> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    take(step.value);
    await new Promise(setImmediate);
  }
}
