import { type ConnectionMode, type WorkerStatus, type WorkerType } from '@smg/protocol';

/**
 * A worker as plug-ins see it: a live, read-only view of one registry entry. A data-parallel engine
 * has one worker per rank; they share `baseUrl`.
 */
export interface WorkerView {
  /** UUIDv7; stable over replacement. */
  readonly id: string;
  /** Canonical URL, with `@<rank>` for a data-parallel rank: the routed-worker id. */
  readonly url: string;
  /** The engine's URL: `url` without the rank. */
  readonly baseUrl: string;
  /** Canonical model id; `unknown` for a wildcard worker. */
  readonly modelId: string;
  readonly workerType: WorkerType;
  readonly connectionMode: ConnectionMode;
  /** Engine adapter name, such as `sglang`, `vllm` or `generic`. */
  readonly runtime: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly priority: number;
  readonly cost: number;
  /** Data-parallel rank, 0-based; undefined for an engine that is one worker. */
  readonly dpRank: number | undefined;
  readonly dpSize: number | undefined;
  readonly status: WorkerStatus;
  /** Requests in flight through this gateway; counted from dispatch to the end of the body. */
  readonly load: number;
  /** Distinct affinity keys among the requests in flight. */
  readonly keysInFlight: number;
  /** Ready, breaker letting requests through, not overloaded. */
  readonly isAvailable: boolean;
  /** Ready and not overloaded; the breaker is not asked. */
  readonly isReady: boolean;
  /** Requests in flight under an affinity key. */
  requestsOf(key: string): number;
}

/** The workers that may serve one model in one role. */
export interface WorkerPoolView {
  /** Canonical model id, or `unknown` for the pool of every regular worker. */
  readonly model: string;
  /** Registered, whatever their state, in registration order. */
  readonly workers: readonly WorkerView[];
  /**
   * Available now, in registration order. The same frozen array is returned until membership,
   * availability or the definition of one of its workers (labels included) changes, so a caller may
   * key a cache on its identity.
   */
  available(): readonly WorkerView[];
}

/** Read-only access to the registry. Token: {@link WORKER_DIRECTORY}. */
export interface WorkerDirectory {
  /** Grows with every change of membership or availability. */
  readonly epoch: number;
  /** Every worker, in registration order; the array is frozen and replaced on change. */
  all(): readonly WorkerView[];
  byId(id: string): WorkerView | undefined;
  /** Looks up by canonical URL, rank included. */
  byUrl(url: string): WorkerView | undefined;
  /**
   * Resolves a model name: registered id first, then alias; `unknown` is the pool of all.
   * @returns undefined when no registered worker serves the name.
   */
  pool(model: string, workerType?: WorkerType): WorkerPoolView | undefined;
  /** Bearer key the gateway uses towards this worker. A secret: send it, never show or log it. */
  credentialOf(worker: WorkerView): string | undefined;
}

/** Service token of the {@link WorkerDirectory}; provided globally by RegistryModule. */
export const WORKER_DIRECTORY = 'smg:worker-directory';
