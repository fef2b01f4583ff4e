/** One operation under measurement. */
export interface MicroCase {
  readonly name: string;
  /**
   * Does the operation {@link OPERATIONS} times and returns something that depends on every one of
   * them, so that none can be left out by the compiler. Allocates nothing of its own.
   */
  readonly run: () => number;
  /** Upper bound of the median, in ns per operation, where there is a promise. */
  readonly atMostNs?: number;
  /** One operation, and the upper bound of its 99th percentile in ns: each call is timed alone. */
  readonly tail?: { readonly once: () => number; readonly p99AtMostNs: number };
}

/** Cases that belong together. `prepare` runs once, before the first case is measured. */
export interface MicroSuite {
  readonly name: string;
  prepare(): readonly MicroCase[] | Promise<readonly MicroCase[]>;
}

/**
 * Operations per cycle. benchmark.js costs some 20 ns a cycle of its own; a hundred operations in
 * each bring that down to 0.2 ns.
 */
export const OPERATIONS = 100;

/** Makes a case of one operation. @param once returns a number that depends on its work. */
export function repeat(
  name: string,
  once: (turn: number) => number,
  bars: { readonly atMostNs?: number; readonly p99AtMostNs?: number } = {},
): MicroCase {
  // A loop of its own per case: a shared one would see many callees and inline none.
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- constant text; see above
  const loop = new Function(
    'once',
    `return () => { let sum = 0; for (let i = 0; i < ${OPERATIONS}; i += 1) sum += once(i); return sum; };`,
  ) as (callee: typeof once) => () => number;
  const { atMostNs, p99AtMostNs } = bars;
  return {
    name,
    run: loop(once),
    ...(atMostNs === undefined ? {} : { atMostNs }),
    ...(p99AtMostNs === undefined ? {} : { tail: { once: () => once(0), p99AtMostNs } }),
  };
}
