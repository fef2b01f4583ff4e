import { Inject, Injectable } from '@nestjs/common';
import { GatewayError } from '@smg/protocol';
import {
  WORKER_CALLER,
  WORKER_DIRECTORY,
  type WorkerAnswer,
  type WorkerCaller,
  type WorkerDirectory,
  type WorkerView,
} from '@smg/plugin-api';

/** Calls at a time. Source: SMG contract 2.7. */
const CONCURRENCY = 32;
/** Milliseconds for one engine. */
const TIMEOUT_MS = 30_000;

/** An engine's answer to a cancellation. */
export interface CancelAnswer {
  readonly worker: WorkerView;
  readonly answer: WorkerAnswer;
}

export interface CancelCall {
  readonly id: string;
  /** Client's, where it is for the engines. */
  readonly authorization: string | undefined;
  /** The client left. */
  readonly signal: AbortSignal;
}

/**
 * Nobody knows which engine works on a response: every one is asked to cancel it. The first that agrees
 * decides, and the others are not waited for; else the last answer is as good as any.
 */
@Injectable()
export class ResponseCanceller {
  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_CALLER) private readonly caller: WorkerCaller,
  ) {}

  /** @throws GatewayError `no_workers`, `no_worker_response`. */
  async cancel(call: CancelCall): Promise<CancelAnswer> {
    const queue = this.engines();
    if (queue.length === 0) throw new GatewayError('no_workers', 'No worker is registered');
    const decided = new AbortController();
    const signal = AbortSignal.any([call.signal, decided.signal]);
    let agreed: CancelAnswer | undefined;
    let last: CancelAnswer | undefined;
    const work = async (): Promise<void> => {
      for (let worker = queue.pop(); worker !== undefined; worker = queue.pop()) {
        if (signal.aborted) return;
        const answer = await this.ask(worker, call, signal);
        if (answer === undefined) continue;
        last = { worker, answer };
        if (answer.status < 200 || answer.status >= 300) continue;
        agreed ??= last;
        decided.abort();
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, queue.length) }, work));
    const answer = agreed ?? last;
    if (answer !== undefined) return answer;
    throw new GatewayError('no_worker_response', 'No worker answered');
  }

  /** One worker of each engine; the first registered is last, to be taken first. */
  private engines(): WorkerView[] {
    const byUrl = new Map<string, WorkerView>();
    for (const worker of this.directory.all()) {
      if (!byUrl.has(worker.baseUrl)) byUrl.set(worker.baseUrl, worker);
    }
    return [...byUrl.values()].reverse();
  }

  private async ask(
    worker: WorkerView,
    { id, authorization }: CancelCall,
    signal: AbortSignal,
  ): Promise<WorkerAnswer | undefined> {
    try {
      return await this.caller.call({
        baseUrl: worker.baseUrl,
        method: 'POST',
        path: `/v1/responses/${encodeURIComponent(id)}/cancel`,
        ...(authorization === undefined ? {} : { headers: ['authorization', authorization] }),
        apiKey: this.directory.credentialOf(worker),
        timeoutMs: TIMEOUT_MS,
        signal,
      });
    } catch {
      return undefined;
    }
  }
}
