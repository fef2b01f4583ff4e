import {
  WorkerCallError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCaller,
} from '@smg/plugin-api';

/** What a call is answered with: parts of an answer, an error to throw, or a function of the call. */
export type FakeAnswer =
  | {
      readonly status?: number;
      /** Flat list of names and values. */
      readonly headers?: readonly string[];
      /** Text or bytes as they are; anything else as JSON. */
      readonly body?: unknown;
      readonly truncated?: boolean;
    }
  | Error
  | ((call: WorkerCall) => FakeAnswer | Promise<FakeAnswer>);

function toBytes(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Rejects as the real caller does when `signal` fires first. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const fail = (): void => {
      reject(new WorkerCallError('aborted', 'the call was aborted'));
    };
    if (signal.aborted) fail();
    else signal.addEventListener('abort', (onAbort = fail), { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

/**
 * A {@link WorkerCaller} that answers from a script and remembers every call.
 *
 * @example
 * ```ts
 * const caller = new FakeCaller().on('/pause_generation', { body: { status: 'ok' } });
 * ```
 */
export class FakeCaller implements WorkerCaller {
  readonly calls: WorkerCall[] = [];
  inFlight = 0;
  /** Most calls in flight at once; for limits on concurrency. */
  peak = 0;
  private readonly script: { readonly key: string; readonly answer: FakeAnswer }[] = [];

  /** @param otherwise answers calls that nothing else matches; 404 when left out. */
  constructor(private readonly otherwise: FakeAnswer = { status: 404 }) {}

  /**
   * @param where a path without query, or a base URL followed by such a path for one engine.
   *   The latest registration that matches wins.
   */
  on(where: string, answer: FakeAnswer): this {
    this.script.unshift({ key: where, answer });
    return this;
  }

  async call(request: WorkerCall): Promise<WorkerAnswer> {
    this.calls.push(request);
    this.inFlight += 1;
    this.peak = Math.max(this.peak, this.inFlight);
    try {
      return await orAborted(this.answer(request), request.signal);
    } finally {
      this.inFlight -= 1;
    }
  }

  private async answer(request: WorkerCall): Promise<WorkerAnswer> {
    const path = request.path.split('?', 1)[0] ?? '';
    const hit = this.script.find(({ key }) => key === path || key === request.baseUrl + path);
    let answer = hit?.answer ?? this.otherwise;
    while (typeof answer === 'function') answer = await answer(request);
    if (answer instanceof Error) throw answer;
    const bytes = toBytes(answer.body);
    const limit = request.maxBodyBytes ?? Infinity;
    return {
      status: answer.status ?? 200,
      headers: answer.headers ?? [],
      body: bytes.length > limit ? bytes.subarray(0, limit) : bytes,
      truncated: answer.truncated ?? bytes.length > limit,
    };
  }
}
