import { type WorkerStatus } from '@smg/protocol';
import { type WorkerView } from './worker-view';

/** What happened to a worker. Listeners run synchronously, in subscription order. */
export type WorkerEvent =
  | { readonly kind: 'registered'; readonly worker: WorkerView }
  /** Same URL, new definition; `previousLabels` are those it had before. */
  | {
      readonly kind: 'replaced';
      readonly worker: WorkerView;
      readonly previousLabels: ReadonlyMap<string, string>;
      readonly previousModelId: string;
    }
  | { readonly kind: 'removed'; readonly worker: WorkerView }
  | {
      readonly kind: 'status_changed';
      readonly worker: WorkerView;
      readonly from: WorkerStatus;
      readonly to: WorkerStatus;
    }
  /** New weights were loaded into an engine: what its KV cache held is stale. */
  | { readonly kind: 'weights_changed'; readonly baseUrl: string };

export type WorkerEventListener = (event: WorkerEvent) => void;

/** The bus of worker events. Token: {@link WORKER_EVENTS}. */
export interface WorkerEvents {
  /** @returns a function that ends the subscription. */
  subscribe(listener: WorkerEventListener): () => void;
  /** Delivers to every listener; one that throws is logged and does not stop the others. */
  emit(event: WorkerEvent): void;
}

/** Service token of the {@link WorkerEvents} bus; provided globally by RegistryModule. */
export const WORKER_EVENTS = 'smg:worker-events';
