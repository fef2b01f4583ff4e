/** What `/v1/rl` can be told of an engine. Only an active one gets requests. */
export type ControlState = 'active' | 'paused' | 'asleep';

/** What an engine can do; for information, calls are not checked against it. */
export interface Capabilities {
  /** `label` when the worker's labels say so, else `static`. */
  readonly source: string;
  /** Values for `mode` of a pause. */
  readonly pauseModes: readonly string[];
  /** Where new weights may come from: `disk`, `tensor`, `distributed`. */
  readonly updateFrom: readonly string[];
  /** Running requests can be aborted. */
  readonly abort: boolean;
  /** The KV cache can be flushed. */
  readonly flushCache: boolean;
  /** Memory can be released and taken back. */
  readonly sleepWake: boolean;
  /** The engine tells which weights it has. */
  readonly reportsWeightVersion: boolean;
}

/**
 * One engine. The ranks of a data-parallel engine are one; {@link dpRanks} counts them.
 *
 * New values of `engine`, `health` and the like may come with newer gateways, so they are plain strings; the states are
 * those that can be written.
 */
export interface Worker {
  readonly id: string;
  /** Registered URL, with `@<rank>` for a rank. */
  readonly url: string;
  /** The engine's address, where calls go. */
  readonly baseUrl: string;
  /** `sglang`, `vllm`, `trtllm`, `tokenspeed`, `mlx`, `generic`, `external` or `unknown`. */
  readonly engine: string;
  readonly engineVersion: string | null;
  readonly modelId: string;
  /** `regular`, `prefill`, `decode` or `encode`. */
  readonly workerType: string;
  /** Only `http` can be called. */
  readonly connectionMode: string;
  readonly tpSize: number | null;
  readonly dpSize: number | null;
  readonly ppSize: number | null;
  readonly dpRanks: number;
  readonly role: string | null;
  /** `pending`, `ready`, `not_ready`, `failed` or `draining`; says nothing of pauses. */
  readonly health: string;
  /** `null` while nobody has said what the engine has. */
  readonly weightVersion: string | null;
  /** `registration`, `passthrough`, `api`, or `null` without a version. */
  readonly versionSource: string | null;
  /** Only an active engine gets requests. */
  readonly control: ControlState;
  /** As registered. */
  readonly labels: Readonly<Record<string, string>>;
  readonly capabilities: Capabilities;
}

/** What one engine answered, whatever its status. An engine can refuse with a 200, too: `{ success: false }`. */
export interface CallResult {
  readonly workerId: string;
  readonly url: string;
  /** The engine's. */
  readonly status: number;
  /** From sending to the last byte of the engine's answer. */
  readonly latencyMs: number;
  /** Parsed when the engine answered JSON, else a string. */
  readonly body: unknown;
  /** The answer was longer than 1 MiB: {@link body} is its first 1 MiB, as a string. */
  readonly bodyTruncated: boolean;
}

/** An engine of a fan-out that did not answer 2xx. */
export interface FanoutFailure {
  readonly workerId: string;
  readonly url: string;
  /** `upstream_error`, `upstream_unreachable`, `upstream_timeout` or `unsupported_connection_mode`. */
  readonly error: string;
  readonly message: string;
  /** The engine's status, if it answered; the answer is then in {@link FanoutResult.results}. */
  readonly status: number | null;
  /** Only with `unsupported_connection_mode`. */
  readonly connectionMode: string | null;
}

/** What the engines of a fan-out answered: `total === succeeded + failed.length`. */
export interface FanoutResult {
  /** By worker id: every engine that answered, whatever its status. */
  readonly results: Readonly<Record<string, CallResult>>;
  readonly failed: readonly FanoutFailure[];
  readonly total: number;
  readonly succeeded: number;
}
