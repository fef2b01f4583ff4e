import { type GatewayError } from '@smg/protocol';
import { type UpstreamRequest } from '@smg/upstream';
import { type JsonObject } from '../core/request-facts';
import { type SelectionRetry } from '../proxy.options';
import { type RoutableWorker } from '../run.services';
import { type AttemptOwner, type RunningAttempt } from '../upstream.attempt';

/** The request a pair serves; `InferenceRun`. */
export interface PairHost extends Omit<AttemptOwner, 'retryAnswer' | 'retryFailure'> {
  /** The response is over, or nothing can be answered any more. */
  readonly isOver: boolean;
  /** The client's body. */
  readonly bytes: Buffer;
  /** The attempt that runs. */
  attempt: RunningAttempt | undefined;
  /** A request with this body to a worker, the client's headers included. */
  requestTo(worker: RoutableWorker, body: Buffer): UpstreamRequest;
  /** Schedules another attempt. @returns true when one is scheduled, or none is needed. */
  again(settings: SelectionRetry): boolean;
  /** Answers with an error; `isStamped`: a worker caused it. */
  reply(error: GatewayError, isStamped: boolean): void;
  /** Answers a stream with one event that is no end. */
  replyEvent(error: GatewayError, status: number, event: string): void;
}

/** What the attempts at a pair work on. */
export interface PairPlan {
  readonly json: JsonObject;
  /** Canonical model to be written into the body; undefined when it names none. */
  readonly model: string | undefined;
  readonly prefill: RoutableWorker;
  readonly decode: RoutableWorker;
  /** Data-parallel ranks; undefined: the engine chooses. */
  readonly prefillRank: number | undefined;
  readonly decodeRank: number | undefined;
}

/** Hears that an attempt at a pair came to nothing. */
export interface PairOutcome {
  /**
   * A leg failed before anything of an answer was sent on.
   * @param isRepeatable another attempt may be made; without that worker, where another is there.
   */
  failed(leg: 'prefill' | 'decode', error: GatewayError, isRepeatable: boolean): void;
  /** A leg answered with another status than success; `status` is its own. */
  refused(leg: 'prefill' | 'decode', error: GatewayError, status: number): void;
  /**
   * Asked when prefill has taken its time: the decode worker may have been paused meanwhile.
   * @returns false when it must not be asked any more, and the request has been seen to.
   */
  mayDecode(): boolean;
}
