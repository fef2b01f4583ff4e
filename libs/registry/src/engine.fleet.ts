import { Injectable } from '@nestjs/common';
import { mapBounded } from './core/map-bounded';
import { type EngineRank, type LoadDocument } from './core/engine-load';
import { ranksOf, usedTokensOf } from './core/load-report';
import { type Worker } from './core/worker';
import { EngineQuestions } from './engine.questions';
import { LoadFetcher, type FetchedLoad } from './load.fetcher';
import { WorkerRegistry } from './worker.registry';

/** Engines asked at the same time. */
const PARALLEL = 32;
const FLUSH_TIMEOUT_MS = 45_000;

export interface FlushReport {
  readonly engines: number;
  readonly successful: readonly string[];
  readonly failed: readonly { readonly worker: string; readonly error: string }[];
}

export interface WorkerLoad {
  readonly worker: string;
  /** Used tokens; -1 when the engine does not tell. */
  readonly load: number;
  readonly details?: LoadDocument;
}

/** Questions and orders to every engine at once; each base URL is spoken to once. */
@Injectable()
export class EngineFleet {
  constructor(
    private readonly registry: WorkerRegistry,
    private readonly engines: EngineQuestions,
    private readonly fetcher: LoadFetcher,
  ) {}

  async flushCaches(): Promise<FlushReport> {
    const engines = this.#engines();
    const successful: string[] = [];
    const failed: { worker: string; error: string }[] = [];
    await mapBounded(engines, PARALLEL, async (worker) => {
      const error = await this.#flush(worker);
      if (error === undefined) successful.push(worker.baseUrl);
      else failed.push({ worker: worker.baseUrl, error });
    });
    return { engines: engines.length, successful, failed };
  }

  /** Ranks of the engines that say something, by base key; asked now. */
  async ranks(): Promise<ReadonlyMap<string, readonly EngineRank[]>> {
    const ranks = new Map<string, readonly EngineRank[]>();
    for (const [key, answer] of await this.#ask()) if (answer.ok) ranks.set(key, answer.ranks);
    return ranks;
  }

  /** Asked now, whatever the load monitor last heard. */
  async loads(): Promise<readonly WorkerLoad[]> {
    const answers = await this.#ask();
    return this.registry.all().map(({ url, baseKey, dpRank }) => {
      const answer = answers.get(baseKey);
      return answer?.ok === true
        ? {
            worker: url,
            load: usedTokensOf(ranksOf(answer.ranks, dpRank)),
            details: answer.document,
          }
        : { worker: url, load: -1 };
    });
  }

  async #ask(): Promise<ReadonlyMap<string, FetchedLoad>> {
    const answers = new Map<string, FetchedLoad>();
    await mapBounded(this.#engines(), PARALLEL, async (worker) => {
      answers.set(worker.baseKey, await this.fetcher.fetch(worker));
    });
    return answers;
  }

  /** One worker per base URL. */
  #engines(): readonly Worker[] {
    const byBase = new Map<string, Worker>();
    for (const worker of this.registry.all()) {
      if (!byBase.has(worker.baseKey)) byBase.set(worker.baseKey, worker);
    }
    return [...byBase.values()];
  }

  async #flush(worker: Worker): Promise<string | undefined> {
    try {
      const contact = contactOf(worker, FLUSH_TIMEOUT_MS);
      const status = await this.engines.status(contact, 'POST', '/flush_cache');
      return status >= 200 && status < 300 ? undefined : `engine answered ${status}`;
    } catch (error) {
      return error instanceof Error ? error.message : 'failed';
    }
  }
}

const contactOf = (worker: Worker, timeoutMs: number) => ({
  baseUrl: worker.baseUrl,
  apiKey: worker.apiKey,
  timeoutMs,
});
