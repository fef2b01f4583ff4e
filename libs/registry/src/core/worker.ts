import {
  UNKNOWN_MODEL,
  type ConnectionMode,
  type WorkerStatus,
  type WorkerType,
} from '@smg/protocol';
import { type WorkerView } from '@smg/plugin-api';
import { CircuitBreaker, sameBreakerConfig, type BreakerState } from './circuit-breaker';
import { type Clock } from './clock';
import { ProbeCounter } from './status-machine';
import { type WorkerDefinition, type PublicSpec } from './worker-definition';
import { type EffectiveRetry, type WorkerSettings } from './worker-settings';

/** Told what changes inside a worker; the table that holds it. */
export interface WorkerOwner {
  availabilityChanged(worker: Worker): void;
  breakerChanged(worker: Worker, from: BreakerState, to: BreakerState): void;
  statusChanged(worker: Worker, from: WorkerStatus, to: WorkerStatus): void;
}

/** Verdict classes of a status, so that judging one is an array read. */
const GOOD = 0;
const BAD = 1;
const NEUTRAL = 2;

/**
 * One entry of the registry: identity, definition, status, breaker and load. Hot fields are plain
 * properties set in the constructor, so every worker has one shape. A replacement keeps the object,
 * and with it id, load and status; requests in flight never lose their worker.
 */
export class Worker implements WorkerView {
  readonly id: string;
  /** Ascending in registration order. */
  readonly sequence: number;
  url!: string;
  baseUrl!: string;
  key!: string;
  baseKey!: string;
  /** Host without brackets: `bootstrap_host` of a prefill worker. */
  host!: string;
  modelId!: string;
  workerType!: WorkerType;
  connectionMode!: ConnectionMode;
  runtime!: string;
  labels!: ReadonlyMap<string, string>;
  priority!: number;
  cost!: number;
  dpRank: number | undefined;
  dpSize: number | undefined;
  bootstrapPort: number | undefined;
  status: WorkerStatus;
  isReady: boolean;
  load = 0;
  /** Adds 1 with every replacement. */
  revision = 0;
  isOverloaded = false;
  /** Breaker outcomes since registration; metrics read them at scrape. */
  successCount = 0;
  failureCount = 0;
  definition!: WorkerDefinition;
  settings!: WorkerSettings;
  breaker!: CircuitBreaker;
  readonly probes = new ProbeCounter();
  readonly #clock: Clock;
  #owner: WorkerOwner | undefined;
  #apiKey: string | undefined;
  #verdicts = new Uint8Array(600);
  /** Requests in flight by affinity key; made with the first one. Empty whenever no keyed request runs. */
  #keys: Map<string, number> | undefined;

  constructor(id: string, sequence: number, definition: WorkerDefinition, clock: Clock) {
    this.id = id;
    this.sequence = sequence;
    this.#clock = clock;
    this.status = definition.settings.health.isDisabled ? 'ready' : 'pending';
    this.isReady = this.status === 'ready';
    this.#apply(definition);
  }

  get apiKey(): string | undefined {
    return this.#apiKey;
  }

  get spec(): PublicSpec {
    return this.definition.spec;
  }

  get retry(): EffectiveRetry {
    return this.settings.retry;
  }

  get retryableStatusCodes(): ReadonlySet<number> {
    return this.settings.retryableStatusCodes;
  }

  get requestTimeoutMs(): number {
    return this.settings.requestTimeoutMs;
  }

  get isAvailable(): boolean {
    if (!this.isReady) return false;
    return this.breaker.state !== 'open' || this.breaker.look(this.#clock.now());
  }

  /** When an open breaker lets requests try again; Infinity while it is not open. */
  get lookAgainAt(): number {
    return this.breaker.halfOpenAt;
  }

  get keysInFlight(): number {
    return this.#keys?.size ?? 0;
  }

  requestsOf(key: string): number {
    return this.#keys?.get(key) ?? 0;
  }

  /** @param key affinity key the request counts under. */
  beginRequest(key?: string): void {
    this.load++;
    if (key === undefined) return;
    this.#keys ??= new Map();
    this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1);
  }

  /** Exactly once per `beginRequest`, with its key; a stray call is ignored. */
  endRequest(key?: string): void {
    if (this.load > 0) this.load--;
    if (key === undefined || this.#keys === undefined) return;
    const left = (this.#keys.get(key) ?? 0) - 1;
    if (left > 0) this.#keys.set(key, left);
    else this.#keys.delete(key);
  }

  /** Final status of an attempt, once its head is known. */
  recordOutcome(status: number): void {
    const verdict = this.#verdicts[status] ?? GOOD;
    if (verdict === NEUTRAL) return;
    if (verdict === BAD) this.recordTransportFailure(status);
    else {
      this.successCount++;
      this.breaker.recordSuccess();
    }
  }

  /** No answer came; `mappedStatus` is what the client is told. Always a failure of the worker. */
  recordTransportFailure(_mappedStatus: number): void {
    this.failureCount++;
    this.breaker.recordFailure(this.#clock.now());
  }

  /** One probe of the engine. */
  recordProbe(isSuccess: boolean): void {
    const next = this.probes.take(this.status, isSuccess, this.settings.health.thresholds);
    if (next !== this.status) this.setStatus(next);
  }

  setStatus(to: WorkerStatus): void {
    const from = this.status;
    if (from === to) return;
    this.status = to;
    this.probes.reset();
    if (to === 'ready') this.breaker.engineRecovered();
    this.#refreshReady();
    this.#owner?.statusChanged(this, from, to);
  }

  setOverloaded(isOverloaded: boolean): void {
    this.isOverloaded = isOverloaded;
    this.#refreshReady();
  }

  /** Joins a table; undefined leaves it, after which nothing is reported any more. */
  attach(owner: WorkerOwner | undefined): void {
    this.#owner = owner;
  }

  /** Takes a new definition of the same URL; keeps id, load, status and an equal breaker. */
  redefine(definition: WorkerDefinition): void {
    this.revision++;
    this.#apply(definition);
  }

  /** The engine is known to be good, or nobody is to check: routable from now on. */
  activate(): void {
    if (this.status !== 'draining') this.setStatus('ready');
  }

  /** Whether a named model, or the wildcard, is served here. */
  serves(model: string): boolean {
    const { models } = this.definition;
    if (models.length === 0) return model === UNKNOWN_MODEL;
    return models.some((card) => card.id === model || card.aliases?.includes(model) === true);
  }

  #refreshReady(): void {
    const isReady = this.status === 'ready' && !this.isOverloaded;
    if (isReady === this.isReady) return;
    this.isReady = isReady;
    this.#owner?.availabilityChanged(this);
  }

  #apply(definition: WorkerDefinition): void {
    const { address, spec, settings } = definition;
    this.definition = definition;
    this.settings = settings;
    this.#apiKey = definition.apiKey;
    this.url = address.url;
    this.baseUrl = address.baseUrl;
    this.key = address.key;
    this.baseKey = address.baseKey;
    this.host = address.host;
    this.modelId = definition.modelId;
    this.workerType = spec.worker_type ?? 'regular';
    this.connectionMode = address.connectionMode;
    this.runtime = spec.runtime_type ?? 'unspecified';
    this.labels = definition.labels;
    this.priority = spec.priority ?? 50;
    this.cost = spec.cost ?? 1;
    this.dpRank = address.rank;
    this.dpSize = spec.dp_size;
    this.bootstrapPort = spec.bootstrap_port;
    this.#applyBreaker(settings);
  }

  #applyBreaker(settings: WorkerSettings): void {
    this.#verdicts.fill(GOOD);
    for (const code of settings.retryableStatusCodes) this.#verdicts[code] = BAD;
    for (const code of settings.capacityStatusCodes) this.#verdicts[code] = NEUTRAL;
    // Absent only while the constructor runs.
    const current = this.breaker as CircuitBreaker | undefined;
    if (current !== undefined && sameBreakerConfig(current.config, settings.breaker)) return;
    this.breaker = new CircuitBreaker(settings.breaker, (from, to) => {
      this.#owner?.breakerChanged(this, from, to);
    });
    if (current?.state === 'open') this.#owner?.availabilityChanged(this);
  }
}
