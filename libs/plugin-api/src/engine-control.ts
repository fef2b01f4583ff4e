import { type Readable } from 'node:stream';

/** A control call for every engine, as its caller sent it. */
export interface FleetCall {
  /** Upper case. */
  readonly method: string;
  /** Engine path without a leading slash, such as `pause_generation`. */
  readonly path: string;
  /** Raw query without `?`; engines get it as it is. */
  readonly query: string;
  /** Names and values in turn, as received; engines get few of them, and never a credential. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** One engine's answer, whatever its status. */
export interface FleetAnswer {
  readonly workerId: string;
  readonly url: string;
  readonly status: number;
  /** Cut where it is larger than an outcome keeps. */
  readonly body: Buffer;
  /** The status is a success and the body does not say otherwise. */
  readonly agrees: boolean;
}

/** What became of a call to every engine. */
export interface FleetReport {
  /** Engines called. */
  readonly total: number;
  readonly answers: readonly FleetAnswer[];
  /** Engines that gave no answer: `upstream_timeout`, `upstream_unreachable` and their like. */
  readonly silent: readonly { readonly url: string; readonly error: string }[];
  /**
   * The report as `/v1/rl/engine/…` answers it, JSON: text, or a stream where it is large.
   * @param more further members.
   */
  render(more: Readonly<Record<string, unknown>>): string | Readable;
}

/**
 * Calls every engine, each once, and keeps account of what the call does to it. Token:
 * {@link ENGINE_CONTROL}.
 */
export interface EngineControl {
  /**
   * @param left fires when nobody waits any more: calls under way are called off.
   * @returns undefined when there is no engine.
   * @throws what `left` was aborted with.
   */
  callAll(call: FleetCall, left: AbortSignal): Promise<FleetReport | undefined>;
}

/** Service token of {@link EngineControl}; there is a provider only with `--enable-rl`. */
export const ENGINE_CONTROL = 'smg:engine-control';
