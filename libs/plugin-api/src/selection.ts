import { type Endpoint } from '@smg/protocol';
import { type WorkerView } from './worker-view';

/** Which role a selection fills. */
export type SelectionLeg = 'regular' | 'prefill' | 'decode';

/** What a filter and a policy may know of the request. Everything is read lazily, at most once. */
export interface SelectionContext {
  /** Canonical model id, `unknown` when the request names none. */
  readonly model: string;
  readonly endpoint: Endpoint;
  readonly leg: SelectionLeg;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * Value of a request header. Repeats are joined with `, `; bytes outside ASCII appear as Latin-1.
   * @param name lower case.
   */
  header(name: string): string | undefined;
  /** The text a prefix policy matches on, as UTF-8; undefined when the request has none. */
  routingText(): Buffer | undefined;
  /** Token ids: a valid routing-tokens header, else the body's ids; undefined when there are none. */
  routingTokens(): readonly number[] | undefined;
  /** Routing key: first configured header with 1 to 128 bytes of valid UTF-8. */
  routingKey(): string | undefined;
}

/** Why nobody was there to choose from. */
export type NoCandidatesCause =
  /** The pool has workers; none is available. */
  | 'unavailable'
  /** The policy, or a target-worker header, refused every candidate. */
  | 'declined';

/** What selection answers. Never collapsed into a string or an index. */
export type SelectionOutcome =
  | { readonly kind: 'selected'; readonly worker: WorkerView }
  | { readonly kind: 'no_candidates'; readonly cause: NoCandidatesCause }
  | {
      readonly kind: 'all_filtered';
      /** Error code the client gets; see `CandidateFilter.exhaustedCode`. */
      readonly code: 'workers_filtered' | 'no_available_workers';
      /** Why, in numbers where a filter says so: `2 paused, 1 stale (latest 42)`. */
      readonly reason: string;
    };
