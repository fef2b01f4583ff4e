import { Injectable } from '@nestjs/common';
import { mapBounded } from './core/map-bounded';
import { sumOfLoads, type LoadDocument } from './core/load-document';
import { type Worker } from './core/worker';
import { EngineQuestions } from './engine.questions';
import { WorkerRegistry } from './worker.registry';

/** Engines asked at the same time. */
const PARALLEL = 32;
const FLUSH_TIMEOUT_MS = 45_000;
const LOADS_TIMEOUT_MS = 5000;
const LOADS_PATH = '/v1/loads?include=core';

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

  async loads(): Promise<readonly WorkerLoad[]> {
    const documents = new Map<string, LoadDocument | undefined>();
    await mapBounded(this.#engines(), PARALLEL, async (worker) => {
      documents.set(worker.baseKey, await this.#load(worker));
    });
    return this.registry.all().map((worker) => {
      const document = documents.get(worker.baseKey);
      return {
        worker: worker.url,
        load: sumOfLoads(document, worker.dpRank),
        ...(document === undefined ? {} : { details: document }),
      };
    });
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

  async #load(worker: Worker): Promise<LoadDocument | undefined> {
    try {
      const { status, json } = await this.engines.asker(contactOf(worker, LOADS_TIMEOUT_MS))(
        LOADS_PATH,
      );
      const isDocument =
        status === 200 && typeof json === 'object' && json !== null && !Array.isArray(json);
      return isDocument ? json : undefined;
    } catch {
      return undefined;
    }
  }
}

const contactOf = (worker: Worker, timeoutMs: number) => ({
  baseUrl: worker.baseUrl,
  apiKey: worker.apiKey,
  timeoutMs,
});
