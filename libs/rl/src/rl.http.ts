import { Readable } from 'node:stream';

/** What the controllers use of a Fastify request; `body` is bytes, because the routes keep them. */
export interface RlRequest {
  readonly method: string;
  readonly body: unknown;
  readonly raw: {
    /** Request target, percent-encoded. */
    readonly url?: string | undefined;
    /** Names and values in turn, as received. */
    readonly rawHeaders: readonly string[];
  };
}

/** What the controllers use of a Fastify reply. */
export interface RlReply {
  readonly raw: {
    readonly writableFinished: boolean;
    readonly destroyed: boolean;
    once(event: 'close', listener: () => void): unknown;
    off(event: 'close', listener: () => void): unknown;
  };
  code(status: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
}

const EMPTY = Buffer.alloc(0);

export function bytesOf({ body }: RlRequest): Buffer {
  return Buffer.isBuffer(body) ? body : EMPTY;
}

/** Query of a request without `?`; empty when there is none. */
export function queryOf({ raw }: RlRequest): string {
  const url = raw.url ?? '';
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/** Slashes before the engine's path: of `/v1/rl/engine/…`, and of `/v1/rl/workers/{id}/engine/…`. */
const SLASHES = { fleet: 4, worker: 6 } as const;

/**
 * What follows `/engine/` in the target of a request that the router has matched, still encoded and
 * without the query. The router decodes what it compares, so `%65ngine` is `engine` here as well.
 */
export function rawEnginePathOf({ raw }: RlRequest): string {
  const path = (raw.url ?? '').split('?', 1)[0] ?? '';
  const segments = path.split('/');
  const isFleet = decoded(segments[3] ?? '') === 'engine';
  return segments.slice(isFleet ? SLASHES.fleet : SLASHES.worker).join('/');
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** First value of a header as the client sent it, by lower-case name. */
export function sentHeader({ raw }: RlRequest, name: string): string | undefined {
  const { rawHeaders } = raw;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  }
  return undefined;
}

/** Characters of an answer that is sent whole, with its length. */
const WHOLE = 8 * 1024 * 1024;

/** An answer made of pieces: one string while that is small, else a stream that makes them one by one. */
export function payloadOf(pieces: Iterator<string>): string | Readable {
  const made: string[] = [];
  let characters = 0;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    made.push(next.value);
    characters += next.value.length;
    if (characters > WHOLE) return Readable.from(rest(made, pieces), { highWaterMark: 1 });
  }
  return made.join('');
}

function* rest(made: readonly string[], pieces: Iterator<string>): Generator<string> {
  yield* made;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) yield next.value;
}
