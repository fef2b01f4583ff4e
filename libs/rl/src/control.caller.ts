import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  WORKER_CALLER,
  WORKER_DIRECTORY,
  WorkerCallError,
  type WorkerAnswer,
  type WorkerCaller,
  type WorkerDirectory,
  type WorkerView,
} from '@smg/plugin-api';
import { CallObserver } from './call.observer';
import { engineTarget } from './core/engine-path';
import { type CallResult } from './core/fanout';
import { type ObservedCall } from './core/observe';
import { operationLabel } from './core/operation-label';
import { MAX_OUTCOME_BYTES } from './core/outcome';
import { timeoutText, unreachableText, unsupportedText } from './core/rl-error';
import { RlMetrics } from './rl.metrics';
import { RL_OPTIONS, type RlOptions } from './rl.options';

/** A control call as every target gets it. */
export interface EngineRequest {
  readonly method: string;
  /** Checked, without a leading slash. */
  readonly path: string;
  /** Raw, without `?` and without the selector. */
  readonly query: string;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * Calls one engine, once: no policy, no retry, no breaker, no load. What the call closes is closed
 * before it is sent; what it opens or publishes counts once the engine agreed.
 */
@Injectable()
export class ControlCaller {
  private readonly logger = new Logger('smg_rl');

  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_CALLER) private readonly caller: WorkerCaller,
    @Inject(RL_OPTIONS) private readonly options: RlOptions,
    private readonly observer: CallObserver,
    private readonly metrics: RlMetrics,
  ) {}

  /**
   * @param left fires when nobody waits any more.
   * @throws WorkerCallError of kind `aborted` after `left`.
   */
  async call(worker: WorkerView, request: EngineRequest, left: AbortSignal): Promise<CallResult> {
    const { connectionMode } = worker;
    if (connectionMode !== 'http') {
      const message = unsupportedText(worker.id, connectionMode);
      return { kind: 'failed', error: 'unsupported_connection_mode', message, connectionMode };
    }
    const observed = this.observer.begin(worker, request);
    const startedAt = performance.now();
    try {
      const answer = await this.send(worker, request, left);
      return this.answered(worker, request, observed, answer, performance.now() - startedAt);
    } catch (error) {
      observed.failed();
      return this.failed(worker, request, error, performance.now() - startedAt);
    }
  }

  private send(
    worker: WorkerView,
    { method, path, query, headers, body }: EngineRequest,
    signal: AbortSignal,
  ): Promise<WorkerAnswer> {
    return this.caller.call({
      baseUrl: worker.baseUrl,
      method,
      path: engineTarget(path, query),
      headers,
      ...(body.length > 0 ? { body } : {}),
      apiKey: this.directory.credentialOf(worker),
      timeoutMs: this.options.controlTimeoutSecs * 1000,
      maxBodyBytes: MAX_OUTCOME_BYTES,
      stopsAtLimit: true,
      signal,
    });
  }

  private answered(
    worker: WorkerView,
    { method, path }: EngineRequest,
    observed: ObservedCall,
    answer: WorkerAnswer,
    latencyMs: number,
  ): CallResult {
    const { status, body } = answer;
    observed.answered(status, body);
    const isOk = status >= 200 && status <= 299;
    this.metrics.called(operationLabel(path), isOk ? 'ok' : 'upstream_error', latencyMs / 1000);
    const { id, url } = worker;
    const latency = Math.floor(latencyMs);
    this.logger.log({ worker_id: id, url, method, path, status, latency_ms: latency }, 'rl.proxy');
    const contentType = contentTypeOf(answer);
    const { truncated } = answer;
    return {
      kind: 'answered',
      outcome: { workerId: id, url, status, latencyMs: latency, body, contentType, truncated },
    };
  }

  private failed(
    { url }: WorkerView,
    { path }: EngineRequest,
    error: unknown,
    latencyMs: number,
  ): CallResult {
    if (!(error instanceof WorkerCallError) || error.failure === 'aborted') throw error;
    const { failure, message } = error;
    this.metrics.called(operationLabel(path), failure, latencyMs / 1000);
    return failure === 'timeout'
      ? {
          kind: 'failed',
          error: 'upstream_timeout',
          message: timeoutText(url, this.options.controlTimeoutSecs),
        }
      : { kind: 'failed', error: 'upstream_unreachable', message: unreachableText(url, message) };
  }
}

function contentTypeOf({ headers }: WorkerAnswer): string | undefined {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'content-type') return headers[at + 1];
  }
  return undefined;
}
