import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import {
  ENGINE_CATALOG,
  WORKER_CALLER,
  WORKER_DIRECTORY,
  type EngineCatalog,
  type WorkerCaller,
  type WorkerDirectory,
  type WorkerView,
} from '@smg/plugin-api';
import { enginesOf, onePerEngine, type AbortOrder } from './core/abort-order';
import { InFlight } from './core/in-flight';
import { inLanes } from './core/in-lanes';

/** Engines asked at the same time. */
const PARALLEL = 32;
/** One engine's time; an abort is a note to its scheduler. */
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;

/** What became of an abort. */
export interface AbortReport {
  /** The engine that has the request is known; false: every engine was asked. */
  readonly located: boolean;
  /** Engines that took it. */
  readonly asked: readonly string[];
  readonly failed: readonly { readonly worker: string; readonly error: string }[];
  /** Engines that have no such route. */
  readonly skipped: readonly string[];
}

/** Passes an abort on to the engines it concerns. */
@Injectable()
export class AbortCaller {
  private readonly logger = new Logger('compat');

  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_CALLER) private readonly caller: WorkerCaller,
    @Inject(ENGINE_CATALOG) private readonly catalog: EngineCatalog,
    @Optional() private readonly followed?: InFlight,
  ) {}

  /** @param body goes to the engines as it is. @throws WorkerCallError after `left`. */
  async abort(order: AbortOrder, body: Buffer, left: AbortSignal): Promise<AbortReport> {
    const workers = this.directory.all();
    const located = enginesOf(order, this.followed, workers);
    const asked: string[] = [];
    const skipped: string[] = [];
    const failed: { worker: string; error: string }[] = [];
    await inLanes(located ?? onePerEngine(workers), PARALLEL, async (worker) => {
      if (!this.canAbort(worker)) {
        skipped.push(worker.baseUrl);
        return;
      }
      const error = await this.tell(worker, body, left);
      if (error === undefined) asked.push(worker.baseUrl);
      else failed.push({ worker: worker.baseUrl, error });
    });
    left.throwIfAborted();
    const counts = { asked: asked.length, failed: failed.length, skipped: skipped.length };
    this.logger.log({ located: located !== undefined, ...counts }, 'abort_request');
    return { located: located !== undefined, asked, failed, skipped };
  }

  /** Only what is known to have no such route is left out. */
  private canAbort({ runtime, connectionMode }: WorkerView): boolean {
    return connectionMode === 'http' && this.catalog.byName(runtime)?.capabilities?.abort !== false;
  }

  private async tell(
    worker: WorkerView,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const { status } = await this.caller.call({
        baseUrl: worker.baseUrl,
        method: 'POST',
        path: '/abort_request',
        headers: ['content-type', 'application/json'],
        body,
        apiKey: this.directory.credentialOf(worker),
        timeoutMs: TIMEOUT_MS,
        maxBodyBytes: MAX_ANSWER_BYTES,
        stopsAtLimit: true,
        signal,
      });
      return status >= 200 && status < 300 ? undefined : `engine answered ${status}`;
    } catch (error) {
      return error instanceof Error ? error.message : 'failed';
    }
  }
}
