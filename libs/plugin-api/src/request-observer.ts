/** One finished HTTP request, whichever lane served it. */
export interface RequestRecord {
  readonly method: string;
  /** Route template, or `other` for an unmatched path: safe as a label. */
  readonly route: string;
  /** Raw request target; for the log only, escaped there. */
  readonly url: string;
  /** Status sent; 499 when the client left before a head was written. */
  readonly status: number;
  readonly durationMs: number;
  readonly requestId: string;
  /** Code of an error the gateway made; undefined for a relayed answer. */
  readonly errorCode?: string | undefined;
  /** URL of the routed worker. */
  readonly worker?: string | undefined;
  readonly model?: string | undefined;
  readonly attempts?: number | undefined;
  /** The client closed before the answer was complete. */
  readonly clientGone?: boolean | undefined;
  /** The response broke off after its head was sent. */
  readonly truncated?: boolean | undefined;
}

/** Counts and logs requests. Token: {@link REQUEST_OBSERVER}. */
export interface RequestObserver {
  /** A request line and head were read. */
  started(): void;
  /** Exactly once per `started`: one access line, the `smg_http_*` metrics. */
  finished(record: RequestRecord): void;
  /** Requests between `started` and `finished`; shutdown waits for it. */
  readonly inFlight: number;
  /** Calls of `finished` since the start of the process. */
  readonly finishedTotal: number;
}

/** Service token of the {@link RequestObserver}; provided globally by ObservabilityModule. */
export const REQUEST_OBSERVER = 'smg:request-observer';
