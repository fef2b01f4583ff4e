import { checkedSelector, pathOf, segmentOf, versionOf } from './encode.js';
import { FanoutError } from './fanout-error.js';
import { type CallResult, type ControlState, type FanoutResult, type Worker } from './models.js';
import {
  type CallOptions,
  type FanoutOptions,
  type FleetOptions,
  type RequestOptions,
  type RLOptions,
} from './options.js';
import { callResultOf, fanoutResultOf, isJson, workerOf } from './read.js';
import { RlError } from './rl-error.js';
import { Transport, type Received, type Sending } from './transport.js';

/**
 * The RL control plane of one gateway. It has no state but its settings.
 *
 * Every method rejects with an {@link RlError} when the gateway refuses; with a `TimeoutError` (`DOMException`) at the
 * deadline; with the signal's reason when it aborts; with a `TypeError` or `RangeError`, before anything is sent, when the
 * arguments cannot be; and with whatever the connection fails with. A call is one attempt.
 *
 * @example
 * ```ts
 * const rl = new RL({ baseUrl: 'http://127.0.0.1:30000', apiKey: 'operators-key' });
 * for (const worker of await rl.workers()) console.log(worker.url, worker.control, worker.weightVersion);
 * ```
 */
export class RL {
  readonly #transport: Transport;

  /** @throws TypeError, RangeError for settings that cannot be. */
  constructor(options: RLOptions) {
    this.#transport = new Transport(options);
  }

  /** Of the gateway, without a slash at the end. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** Deadline of a call that has none of its own. */
  get timeoutMs(): number {
    return this.#transport.timeoutMs;
  }

  /** Every engine. Registration is asynchronous: ask again when one is missing. */
  async workers(options: RequestOptions = {}): Promise<Worker[]> {
    return rows(await this.#send(options, { method: 'GET', path: '/workers' }));
  }

  /** One engine; the id of any rank will do. Unknown: `worker_not_found`. */
  async worker(id: string, options: RequestOptions = {}): Promise<Worker> {
    return row(await this.#send(options, { method: 'GET', path: `/workers/${segmentOf(id)}` }));
  }

  /** Records the weights an engine has. The engine is not called. Whole numbers are sent as text. */
  async setVersion(
    id: string,
    version: string | number | bigint,
    options: RequestOptions = {},
  ): Promise<Worker> {
    const path = `/workers/${segmentOf(id)}/version`;
    const body = { weight_version: versionOf(version) };
    return row(await this.#send(options, { method: 'POST', path, body }));
  }

  /** {@link setVersion} for every engine that matches; returns those. */
  async setFleetVersion(
    version: string | number | bigint,
    options: FleetOptions,
  ): Promise<Worker[]> {
    const body = { weight_version: versionOf(version) };
    return rows(await this.#sendToFleet('/version', body, options));
  }

  /** Records a state. The engine is not called. */
  async setState(id: string, control: ControlState, options: RequestOptions = {}): Promise<Worker> {
    const path = `/workers/${segmentOf(id)}/state`;
    return row(await this.#send(options, { method: 'POST', path, body: { control } }));
  }

  /** {@link setState} for every engine that matches; returns those. */
  async setFleetState(control: ControlState, options: FleetOptions): Promise<Worker[]> {
    return rows(await this.#sendToFleet('/state', { control }, options));
  }

  /**
   * Calls a route of one engine, and returns what it answered, refusals included: read `status`.
   *
   * An answer without a body on the wire (a 204) is an {@link RlError} `unexpected_response` with that status.
   *
   * @param path the engine's own: `pause_generation`, `server_info`, …
   * @param body sent as JSON; `undefined` and `null` send none. SGLang wants at least `{}` when it pauses and continues.
   */
  async call(
    id: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<CallResult> {
    const received = await this.#send(options, {
      method: methodOf(options),
      path: `/workers/${segmentOf(id)}/engine/${pathOf(path)}`,
      params: options.params,
      body,
    });
    const { payload } = received;
    if (isJson(payload) && 'latency_ms' in payload && !('error' in payload)) {
      return callResultOf(payload);
    }
    return refuse(received);
  }

  /**
   * Makes the same call to every engine that matches, and waits for all of them. Nobody matches: `no_workers_match`.
   *
   * @param path the engines' own.
   * @param body as in {@link call}.
   * @throws FanoutError when an engine failed, unless `allowPartial`.
   */
  async fanout(path: string, body: unknown, options: FanoutOptions): Promise<FanoutResult> {
    const received = await this.#send(options, {
      method: methodOf(options),
      path: `/engine/${pathOf(path)}`,
      params: { ...options.params, selector: checkedSelector(options.selector) },
      body,
    });
    const { status, payload } = received;
    const result = status === 200 || status === 207 ? fanoutResultOf(payload) : undefined;
    if (result === undefined) return refuse(received);
    if (result.failed.length > 0 && options.allowPartial !== true) {
      throw new FanoutError(result, status);
    }
    return result;
  }

  #sendToFleet(path: string, body: unknown, options: FleetOptions): Promise<Received> {
    const params = { selector: checkedSelector(options.selector) };
    return this.#send(options, { method: 'POST', path, params, body });
  }

  #send({ timeoutMs, signal }: RequestOptions, sending: Sending): Promise<Received> {
    const path = `/v1/rl${sending.path}`;
    return this.#transport.send({ ...sending, path, timeoutMs, signal });
  }
}

const methodOf = ({ method = 'POST' }: CallOptions): string => method.toUpperCase();

function row(received: Received): Worker {
  const { status, payload } = received;
  if (status !== 200 || !isJson(payload) || !('id' in payload)) return refuse(received);
  return workerOf(payload);
}

function rows(received: Received): Worker[] {
  const { status, payload } = received;
  const found = status === 200 && isJson(payload) ? payload['workers'] : undefined;
  if (!Array.isArray(found) || !found.every(isJson)) return refuse(received);
  return found.map(workerOf);
}

/** @throws RlError always. */
function refuse({ status, payload }: Received): never {
  if (status >= 400) throw new RlError(status, payload);
  // A browser tells no more of a redirect than status 0.
  const redirect = status === 0 || (status >= 300 && status < 400);
  const message = `not an answer of the RL API${redirect ? '; redirects are not followed' : ''}`;
  throw new RlError(status, { error: 'unexpected_response', message, body: payload });
}
