import { checkedTimeout, queryOf, type Params } from './encode.js';
import { type FetchLike, type FetchRequest } from './fetch-like.js';
import { nodeFetch } from './node-fetch.js';
import { type RLOptions } from './options.js';

const DEFAULT_TIMEOUT_MS = 660_000;
const USER_AGENT = 'smg-rl-typescript';

/** One request. */
export interface Sending {
  readonly method: string;
  /** Below the gateway's base URL, escaped. */
  readonly path: string;
  readonly params?: Params | undefined;
  /** Sent as JSON; `undefined` and `null` send no body. */
  readonly body?: unknown;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One answer. */
export interface Received {
  readonly status: number;
  /** Parsed when it is JSON, else the text. */
  readonly payload: unknown;
}

/** Sends JSON to the gateway and reads what comes back. Nothing changes between requests. */
export class Transport {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly #authorization: string | undefined;
  readonly #fetch: FetchLike;
  readonly #parse: (text: string) => unknown;

  constructor(options: RLOptions) {
    this.baseUrl = checkedBaseUrl(options.baseUrl);
    this.timeoutMs = checkedTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    this.#authorization = authorizationOf(options.apiKey);
    this.#fetch = options.fetch ?? nodeFetch;
    this.#parse = options.parseJson ?? JSON.parse;
  }

  /** @throws TypeError, RangeError when it cannot be sent, and whatever the connection fails with. */
  async send(sending: Sending): Promise<Received> {
    const { method, path, params = {}, body: value, timeoutMs, signal } = sending;
    const url = `${this.baseUrl}${path}${queryOf(params)}`;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': USER_AGENT,
    };
    if (this.#authorization !== undefined) headers['authorization'] = this.#authorization;
    const body = value === undefined || value === null ? undefined : jsonOf(value);
    if (body !== undefined) {
      if (method === 'GET') throw new TypeError('a GET cannot have a body');
      headers['content-type'] = 'application/json';
    }
    const wait = timeoutMs === undefined ? this.timeoutMs : checkedTimeout(timeoutMs);
    return withDeadline(wait, signal, async (deadline) => {
      const request: FetchRequest = {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        redirect: 'manual',
        signal: deadline,
      };
      // Called without a receiver: a browser's fetch insists.
      const send = this.#fetch;
      const answer = await send(url, request);
      return { status: answer.status, payload: this.#read(answer.status, await answer.text()) };
    });
  }

  #read(status: number, text: string): unknown {
    const safe = this.#withoutKey(status, text);
    try {
      return this.#parse(safe);
    } catch {
      return safe;
    }
  }

  /** Something on the way may echo what it was sent; the key must not end up in an error text. */
  #withoutKey(status: number, text: string): string {
    if (this.#authorization === undefined) return text;
    const safe = text.replaceAll(this.#authorization, 'Bearer ***');
    // In a success the key alone is left: a short one may be part of any word.
    if (status >= 200 && status <= 299) return safe;
    return safe.replaceAll(this.#authorization.slice('Bearer '.length), '***');
  }
}

function jsonOf(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be sent as JSON`);
  return text;
}

function checkedBaseUrl(baseUrl: string): string {
  if (typeof baseUrl !== 'string') {
    throw new TypeError(`baseUrl must be a string, not ${typeof baseUrl}`);
  }
  let url: URL | undefined;
  try {
    url = new URL(baseUrl);
  } catch {
    // Told below, with everything else that is none.
  }
  // The URL is not shown while it may have a password in it.
  if (baseUrl.includes('@')) {
    throw new TypeError('baseUrl must not contain credentials: use apiKey');
  }
  if (url === undefined || !/^https?:\/\//i.test(baseUrl) || /[?#\\]/.test(baseUrl)) {
    throw new TypeError(`baseUrl must be http(s)://host[:port][/path], not '${baseUrl}'`);
  }
  return url.href.replace(/\/+$/, '');
}

function authorizationOf(apiKey: string | undefined): string | undefined {
  if (apiKey === undefined || apiKey === '') return undefined;
  // Checked here because others would quote the key in their complaint.
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(apiKey)) {
    throw new TypeError(
      'apiKey must be a string of printable ASCII characters (does it end with a newline?)',
    );
  }
  return `Bearer ${apiKey}`;
}

/** Runs with a signal that aborts at the deadline or with `signal`; rejects then, whatever `run` makes of it. */
async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const follow = (): void => {
    controller.abort(signal?.reason);
  };
  signal?.addEventListener('abort', follow, { once: true });
  const timer = setTimeout(() => {
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  }, timeoutMs);
  const aborted = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  try {
    const never = aborted.then((): never => {
      controller.signal.throwIfAborted();
      throw new Error('aborted');
    });
    return await Promise.race([run(controller.signal), never]);
  } catch (error) {
    // Everybody's fetch throws something else of its own here.
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
  }
}
