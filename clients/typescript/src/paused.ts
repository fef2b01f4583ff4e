import { checkedSelector, checkedTimeout } from './encode.js';
import { type FanoutResult } from './models.js';
import { type PausedOptions } from './options.js';
import { type RL } from './rl.js';

/**
 * Pauses every SGLang engine that matches, runs `run`, and resumes, whatever happened.
 *
 * - The pause failed, on one engine or on all: `run` is not called, the resume is sent, the error of the pause is thrown.
 * - `run` failed: the resume is sent, the error of `run` is thrown.
 * - In both cases, when the resume fails as well: its error becomes the `cause` of the one thrown. If that one has a cause of its
 *   own, or can have none, an `AggregateError` of both is thrown, first the one, then that of the resume.
 * - Only the resume failed: its error is thrown. The engines it names are still paused.
 *
 * The resume is a fan-out of its own, to whoever matches then. Do not select on what `run` changes: `control`,
 * `weight_version`, `health`.
 *
 * @example
 * ```ts
 * await paused(rl, 'engine=sglang', async (pause) => {
 *   console.log(`paused ${pause.succeeded} engines`);
 * }, { mode: 'retract' });
 * ```
 *
 * @param run gets the report of the pause.
 * @returns what `run` returned.
 */
export async function paused<T>(
  rl: Pick<RL, 'fanout'>,
  selector: string,
  run: (pause: FanoutResult) => T | PromiseLike<T>,
  options: PausedOptions = {},
): Promise<T> {
  const { mode, timeoutMs, signal } = options;
  // Before anything is sent: nothing has to be resumed then.
  checkedSelector(selector);
  if (timeoutMs !== undefined) checkedTimeout(timeoutMs);
  signal?.throwIfAborted();

  let result: T;
  try {
    const body = mode === undefined ? {} : { mode };
    // A pause that failed may have reached some engines, also when no answer came.
    const pause = await rl.fanout('pause_generation', body, { selector, timeoutMs, signal });
    result = await run(pause);
  } catch (error) {
    try {
      await rl.fanout('continue_generation', {}, { selector, timeoutMs });
    } catch (resumeError) {
      throw joined(error, resumeError, selector);
    }
    throw error;
  }
  await rl.fanout('continue_generation', {}, { selector, timeoutMs });
  return result;
}

/** Also an error of another realm, as test runners and `vm` make them. */
const isError = (error: unknown): error is Error =>
  typeof error === 'object' && error !== null && 'message' in error && 'stack' in error;

/** The first error, with that of the resume attached. */
function joined(error: unknown, resumeError: unknown, selector: string): unknown {
  if (error === resumeError) return error;
  if (isError(error) && !('cause' in error) && Object.isExtensible(error)) {
    // As the constructor would have defined it.
    const value = { value: resumeError, writable: true, enumerable: false, configurable: true };
    return Object.defineProperty(error, 'cause', value);
  }
  const first = isError(error) ? error.message : String(error);
  return new AggregateError(
    [error, resumeError],
    `${first} (and resuming '${selector}' failed: engines may still be paused)`,
    { cause: error },
  );
}
