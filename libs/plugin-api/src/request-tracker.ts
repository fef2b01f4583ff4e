import { type WorkerView } from './worker-view';

/** One request at one worker. */
export interface TrackedRequest {
  /** The worker is done with it, or was told to let it go. Further calls do nothing. */
  over(): void;
}

/** Follows requests by the id their client gave them. Optional token: {@link REQUEST_TRACKER}. */
export interface RequestTracker {
  /**
   * A request is about to be sent. Cheap, synchronous, never throws.
   * @param rid the body's own: text, or a list of texts for a batch; anything else is not followed.
   * @returns undefined when it is not followed.
   */
  begin(rid: unknown, worker: WorkerView): TrackedRequest | undefined;
}

/** Service token of {@link RequestTracker}; there is a provider only while requests are followed. */
export const REQUEST_TRACKER = 'smg:request-tracker';
