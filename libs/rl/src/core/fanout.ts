import { type ConnectionMode } from '@smg/protocol';
import { renderOutcome, type CallOutcome } from './outcome';

/** How a call to one engine ended. */
export type CallResult =
  | { readonly kind: 'answered'; readonly outcome: CallOutcome }
  | {
      readonly kind: 'failed';
      readonly error: 'upstream_unreachable' | 'upstream_timeout';
      readonly message: string;
    }
  | {
      readonly kind: 'failed';
      readonly error: 'unsupported_connection_mode';
      readonly message: string;
      readonly connectionMode: ConnectionMode;
    };

/** An engine of a fan-out. */
export interface FanoutTarget {
  readonly id: string;
  readonly url: string;
}

/** One engine that did not do what it was asked. */
export interface FanoutFailure {
  readonly worker_id: string;
  readonly url: string;
  readonly error: string;
  readonly message: string;
  readonly status?: number;
  readonly connection_mode?: ConnectionMode;
}

/** What a fan-out answers. */
export interface FanoutReport {
  /** 200 when every engine answered 2xx, else 207. */
  readonly status: 200 | 207;
  readonly total: number;
  readonly succeeded: number;
  /** By worker id. */
  readonly failed: readonly FanoutFailure[];
  /** Every engine that answered, by worker id. */
  readonly results: readonly CallOutcome[];
}

/**
 * Calls every target, at most `concurrency` at a time; the next starts as soon as one ends.
 *
 * When `signal` aborts, or a call rejects, no further call starts; the promise settles once those
 * under way have. Calls watch the signal themselves.
 * @param concurrency below 1 counts as 1.
 * @throws the reason of `signal`, or what a call rejected with.
 */
export async function fanOut<T extends FanoutTarget>(
  targets: readonly T[],
  concurrency: number,
  callOne: (target: T) => Promise<CallResult>,
  signal: AbortSignal,
): Promise<FanoutReport> {
  const answers: { readonly target: T; readonly result: CallResult }[] = [];
  let next = 0;
  const faults: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (;;) {
      const target = targets[next];
      if (target === undefined || signal.aborted || faults.length > 0) return;
      next++;
      try {
        answers.push({ target, result: await callOne(target) });
      } catch (fault) {
        faults.push(fault);
      }
    }
  };
  const lanes = Math.min(targets.length, Math.max(1, Math.floor(concurrency)));
  await Promise.all(Array.from({ length: lanes }, lane));
  signal.throwIfAborted();
  if (faults.length > 0) throw faults[0];
  return report(answers);
}

function report(
  answers: readonly { readonly target: FanoutTarget; readonly result: CallResult }[],
): FanoutReport {
  const results: CallOutcome[] = [];
  const failed: FanoutFailure[] = [];
  let succeeded = 0;
  for (const { target, result } of answers) {
    if (result.kind === 'answered') results.push(result.outcome);
    const failure = failureOf(target, result);
    if (failure === undefined) succeeded++;
    else failed.push(failure);
  }
  results.sort((a, b) => order(a.workerId, b.workerId));
  failed.sort((a, b) => order(a.worker_id, b.worker_id));
  return {
    status: failed.length === 0 ? 200 : 207,
    total: answers.length,
    succeeded,
    failed,
    results,
  };
}

function failureOf(target: FanoutTarget, result: CallResult): FanoutFailure | undefined {
  const named = { worker_id: target.id, url: target.url };
  if (result.kind === 'failed') {
    const { error, message } = result;
    return result.error === 'unsupported_connection_mode'
      ? { ...named, error, message, connection_mode: result.connectionMode }
      : { ...named, error, message };
  }
  const { status } = result.outcome;
  if (status >= 200 && status <= 299) return undefined;
  return { ...named, error: 'upstream_error', message: `HTTP ${status}`, status };
}

/**
 * The answer's body, as pieces of JSON text. Whole, the answers of a large fleet would not fit into
 * one string, and the engines have acted by now.
 * @param more further members.
 */
export function* renderFanout(
  report: FanoutReport,
  more: Readonly<Record<string, unknown>> = {},
): Generator<string> {
  let before = '{"results":{';
  for (const outcome of report.results) {
    yield `${before}${JSON.stringify(outcome.workerId)}:${renderOutcome(outcome)}`;
    before = ',';
  }
  const { failed, total, succeeded } = report;
  const rest = JSON.stringify({ failed, total, succeeded, ...more }).slice(1);
  yield report.results.length === 0 ? `${before}},${rest}` : `},${rest}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
