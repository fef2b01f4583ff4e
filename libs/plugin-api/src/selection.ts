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
  /**
   * The key of a conversation that should stay with its worker: with `--routing-key-override` the
   * body's `rid`, else the routing key, either without its `_t<n>`, `_r<n>` suffixes; without the
   * option the routing key as it is. A request whose key was asked for counts under it at its worker,
   * see `WorkerView.requestsOf`.
   */
  affinityKey(): string | undefined;
  /** Where the affinity key comes from; undefined when there is none, or nobody says. */
  affinitySource?(): 'rid' | 'header' | undefined;
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
