import { type Duplex, type Readable } from 'node:stream';
import { type UpstreamFailure } from './core/upstream-failure';

/**
 * A body in pieces. It is written as it comes, once: such a request has a connection of its own and is
 * never sent again.
 */
export interface UpstreamBodySource {
  /** Bytes, when they are known; a body of unknown length is sent chunked. */
  readonly length: number | undefined;
  /** A stream is read with back-pressure, and destroyed when the exchange ends before it does. */
  readonly content: Readable | Iterable<Buffer>;
}

/** Where and what to send. */
export interface UpstreamRequest {
  /** Base URL of the engine, without a rank; a path in it is a prefix. */
  readonly baseUrl: string;
  readonly method: string;
  /** Raw path with query, starting with `/`. */
  readonly path: string;
  /** Flat list without framing headers. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
  /** In place of `body`. */
  readonly source?: UpstreamBodySource | undefined;
  /** Never taken from the pool, so that it is never written to a dying socket; nor sent twice. */
  readonly freshConnection?: boolean;
}

/**
 * Hears one exchange: `onHead`, any number of `onData`, then exactly one of `onEnd` and `onError`.
 * After {@link UpstreamCall.abort} nothing more is heard.
 */
export interface UpstreamHandler {
  /** Status 200..599 and the headers as received; interim answers are skipped. */
  onHead(status: number, rawHeaders: readonly string[]): void;
  /** @returns false to stop reading until {@link UpstreamCall.resume}. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  onError(failure: UpstreamFailure): void;
  /**
   * A pooled connection had died under the request, which is to be written again; possibly long after the
   * first time.
   * @returns false when it must not be: then it has failed.
   */
  onResend?(): boolean;
}

/** A running exchange. */
export interface UpstreamCall {
  /** A byte of an answer arrived, be it of an interim one: the engine may have done the work. */
  readonly hasAnswered: boolean;
  /** Closes the connection to the engine now. Safe at any time, any number of times. */
  abort(): void;
  /** Reads on after `onData` said false. */
  resume(): void;
}

/** A connection that speaks another protocol from here on. */
export interface UpstreamTunnel {
  readonly socket: Duplex;
  /** Headers of the 101 as received. */
  readonly rawHeaders: readonly string[];
}

/** Hears how a request for another protocol ends: a tunnel, or an ordinary answer, or a failure. */
export interface UpgradeHandler extends UpstreamHandler {
  /** The engine answered 101: the connection is the handler's, who must end it. Nothing more is heard. */
  onTunnel(tunnel: UpstreamTunnel): void;
}

/** Sends requests to engines. Token: {@link UPSTREAM_TRANSPORT}. */
export interface UpstreamTransport {
  /**
   * Starts an exchange. Handler callbacks never run before this returns, except that a request the
   * client library refuses as malformed reports `onError` on the next tick.
   */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall;
  /**
   * Asks for another protocol on a connection of its own. The connection counts as open until it closes.
   * @param protocol value of `Upgrade`.
   */
  upgrade(request: UpstreamRequest, protocol: string, handler: UpgradeHandler): UpstreamCall;
  /** This gateway in the `via` header of everything it sends, as no other gateway is called. */
  readonly via: string;
  /** Sockets to engines now open or being opened; counted against the limit of open files. */
  readonly openConnections: number;
}

/** Service token of the {@link UpstreamTransport}. */
export const UPSTREAM_TRANSPORT = 'smg:upstream-transport';
