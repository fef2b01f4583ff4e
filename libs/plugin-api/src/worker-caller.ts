/** One buffered control call to one engine; no retry, no breaker, no load count. */
export interface WorkerCall {
  /** Base URL of the engine, without a rank. */
  readonly baseUrl: string;
  readonly method: string;
  /** Raw path with query, starting with `/`; sent as it is. */
  readonly path: string;
  /** Flat list of names and values; repeats are kept. */
  readonly headers?: readonly string[];
  readonly body?: Buffer;
  /** Sent as `Authorization: Bearer` unless `headers` carry an Authorization. */
  readonly apiKey?: string | undefined;
  /** Total deadline, head and body, in milliseconds. */
  readonly timeoutMs: number;
  /** Bytes of the answer kept; the rest is read and dropped, and `truncated` is set. */
  readonly maxBodyBytes?: number;
  /** Answers as soon as there is more than `maxBodyBytes`: the connection is closed, not read on. */
  readonly stopsAtLimit?: boolean;
  /** Aborts the call; it then rejects with kind `aborted`. */
  readonly signal?: AbortSignal;
}

export interface WorkerAnswer {
  readonly status: number;
  /** Flat list of names and values as received. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly truncated: boolean;
}

export type WorkerCallFailure = 'timeout' | 'unreachable' | 'aborted';

/** Why a call brought no answer. `message` never holds credentials. */
export class WorkerCallError extends Error {
  override readonly name = 'WorkerCallError';
  readonly failure: WorkerCallFailure;

  constructor(failure: WorkerCallFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.failure = failure;
  }
}

/** Calls engines outside the data path. Token: {@link WORKER_CALLER}. */
export interface WorkerCaller {
  /** @throws WorkerCallError */
  call(request: WorkerCall): Promise<WorkerAnswer>;
}

/** Service token of the {@link WorkerCaller}; provided globally by UpstreamModule. */
export const WORKER_CALLER = 'smg:worker-caller';
