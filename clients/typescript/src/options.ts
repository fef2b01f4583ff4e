import { type Params } from './encode.js';
import { type FetchLike } from './fetch-like.js';

/** Settings of an `RL`. */
export interface RLOptions {
  /** Of the gateway. A path is kept, for a gateway behind a reverse proxy. */
  readonly baseUrl: string;
  /** The operator's key, or an admin's token, when the gateway asks for one; empty counts as none. */
  readonly apiKey?: string | undefined;
  /**
   * Deadline of one call, from sending to the last byte of the answer; 660 000 by default, a minute more than
   * the gateway gives an engine (`--rl-control-timeout-secs`). When the client hangs up first, the gateway cancels the calls
   * still in flight. A fan-out over more engines than `--rl-fanout-concurrency` (32) takes several rounds.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Sends the requests, instead of Node's `http` and `https` modules with one connection per call. `globalThis.fetch` will
   * do, but Node's gives up after five minutes without an answer.
   */
  readonly fetch?: FetchLike | undefined;
  /**
   * Parses what the gateway answers, instead of `JSON.parse`, which rounds integers above 2^53. Whole numbers it
   * returns as `bigint` are fine; other numbers should be plain ones.
   */
  readonly parseJson?: ((text: string) => unknown) | undefined;
}

/** Of every call. */
export interface RequestOptions {
  /** Instead of the client's. */
  readonly timeoutMs?: number | undefined;
  /** Hangs up when it aborts, and the gateway cancels the engine calls still in flight; what engines did is done. */
  readonly signal?: AbortSignal | undefined;
}

/** Of `setFleetVersion` and `setFleetState`. */
export interface FleetOptions extends RequestOptions {
  /** Which engines, for instance `engine=sglang, role!=reward`. */
  readonly selector: string;
}

/** Of `call`. */
export interface CallOptions extends RequestOptions {
  /** `POST` by default. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** The engine's query; a list repeats its parameter. */
  readonly params?: Params | undefined;
}

/** Of `fanout`. */
export interface FanoutOptions extends CallOptions {
  /** Which engines, for instance `engine=sglang, role!=reward`; replaces a `selector` in `params`. */
  readonly selector: string;
  /** Return the report instead of throwing a `FanoutError` when engines failed. */
  readonly allowPartial?: boolean | undefined;
}

/** Of `paused`. */
export interface PausedOptions {
  /** SGLang's `abort`, `retract` or `in_place`; the engine's own default when absent. */
  readonly mode?: string | undefined;
  /** Of the pause and of the resume, each. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the pause. The resume is sent all the same: engines must not stay paused because somebody lost patience. */
  readonly signal?: AbortSignal | undefined;
}
