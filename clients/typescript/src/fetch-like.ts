/** What the client asks a {@link FetchLike} for. A `RequestInit`, in part. */
export interface FetchRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  /** Absent when there is no body. */
  readonly body?: string;
  /** A control call must not turn into another one, nor the key go elsewhere. */
  readonly redirect: 'manual';
  /** Aborts at the deadline, and when the caller's own signal does. */
  readonly signal: AbortSignal;
}

/** What the client needs of an answer. A `Response`, in part. */
export interface FetchAnswer {
  readonly status: number;
  /** The whole body. Rejects when it breaks off. */
  text(): Promise<string>;
}

/** Sends one request: `globalThis.fetch`, undici's `fetch`, or one of your own. */
export type FetchLike = (url: string, request: FetchRequest) => Promise<FetchAnswer>;
