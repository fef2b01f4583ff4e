import { defineExtensionPoint } from './extension-point';
import { type SelectionContext } from './selection';
import { type WorkerView } from './worker-view';

/** An answer to a request whose headers a filter cannot understand. */
export interface RequestRefusal {
  /** 4xx. */
  readonly status: number;
  /** Stable code, for log and metrics. */
  readonly code: string;
  /** JSON text. */
  readonly body: string;
}

/** Reads a request header by lower-case name; repeats are joined with `, `. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * A hard requirement on who may serve a request. Filters are ANDed, in `order`, before any policy
 * or sticky key is asked; preferences belong in a policy.
 *
 * The contract, checked by `describeCandidateFilter` of `smg-gateway/testing`:
 * - synchronous, and cheap: it runs once per attempt;
 * - returns the *same array* when nothing is dropped (no allocation on the common path), otherwise
 *   the survivors in the same order; it never adds a worker and never changes the array it got;
 * - a throw fails the request (500 `filter_failed`); it never opens the gate.
 *
 * @example
 * ```ts
 * @Injectable()
 * export class GpuClassFilter implements CandidateFilter {
 *   readonly name = 'gpu-class';
 *   readonly order = 300;
 *
 *   filter(candidates: readonly WorkerView[], context: SelectionContext) {
 *     const wanted = context.header('x-acme-gpu-class');
 *     if (wanted === undefined) return candidates;
 *     return candidates.filter((worker) => worker.labels.get('gpu_class') === wanted);
 *   }
 * }
 *
 * @Module({ providers: [...CANDIDATE_FILTER.provide(GpuClassFilter)] })
 * export class GpuClassPlugin {}
 * ```
 */
export interface CandidateFilter {
  /** Unique among filters; names it in the log, in `--require-filters` and in metrics. */
  readonly name: string;
  /** Ascending; ties by name. The gateway's own: rl 100, label 200. Yours: 300 and up. */
  readonly order: number;
  /**
   * Code of the 503 when this filter alone leaves nobody. `workers_filtered` (the default) says the
   * request asks for what the fleet has not; `no_available_workers` says it can pass with time.
   */
  readonly exhaustedCode?: 'workers_filtered' | 'no_available_workers';
  filter(candidates: readonly WorkerView[], context: SelectionContext): readonly WorkerView[];
  /**
   * This filter dropped candidates of a selection: the place to count. Called once per selection it
   * narrowed, unlike `filter`, which is run again to explain why nobody is left. Must not throw.
   */
  onNarrowed?(
    candidates: readonly WorkerView[],
    kept: readonly WorkerView[],
    context: SelectionContext,
  ): void;
  /**
   * Says why candidates were dropped, for the 503's message; asked only when nobody is left.
   * @returns a phrase such as `2 paused, 1 stale (latest 42)`, or undefined.
   */
  explain?(candidates: readonly WorkerView[], context: SelectionContext): string | undefined;
  /**
   * Refuses a request whose headers this filter cannot understand. Asked on every existing route,
   * before authentication and before the body is read; cheap, and silent about secrets.
   */
  refuse?(header: HeaderReader): RequestRefusal | undefined;
}

/** Register a {@link CandidateFilter}: `providers: [...CANDIDATE_FILTER.provide(MyFilter)]`. */
export const CANDIDATE_FILTER = defineExtensionPoint<CandidateFilter>('smg:candidate-filter');
