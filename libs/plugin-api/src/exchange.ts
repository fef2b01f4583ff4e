import { type Endpoint } from '@smg/protocol';
import { type WorkerView } from './worker-view';

/** One inference request on its way through the gateway. */
export interface Exchange {
  readonly requestId: string;
  /** Upper case. */
  readonly method: string;
  /** Route template, such as `/v1/chat/completions`; never the raw URL. */
  readonly route: string;
  readonly endpoint: Endpoint;
  /** Whether the client asked for a stream. */
  readonly wantsStream: boolean;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The worker this attempt was dispatched to; set at dispatch, undefined before. */
  readonly routedWorker: WorkerView | undefined;
  /** Value of a request header by lower-case name. */
  header(name: string): string | undefined;
  /** Keeps a value for the length of the exchange; `key` is the interceptor's own. */
  note(key: symbol, value: unknown): void;
  noted(key: symbol): unknown;
}

/** The head of a response before it is written. Names are compared without case. */
export interface ResponseHead {
  readonly status: number;
  /** The body is relayed as it arrives and is never shown to an interceptor. */
  readonly isStream: boolean;
  get(name: string): string | undefined;
  /** Replaces every header of that name. @throws TypeError when the value is no legal header value. */
  set(name: string, value: string): void;
  delete(name: string): void;
}
