import { type WorkerSpecWire } from '@smg/protocol';

/** A registration that was taken up, or why it was not. */
export type RegistrarAnswer =
  | { readonly ok: true; readonly id: string; readonly url: string }
  | {
      readonly ok: false;
      /** HTTP status. */
      readonly status: number;
      /** Code of the worker API, such as `WORKER_NOT_FOUND`. */
      readonly code: string;
      readonly message: string;
    };

/** What became of a registration within the time it was waited for. */
export type RegistrationOutcome =
  /** The worker is ready: the next request may go to it. */
  | { readonly kind: 'routable' }
  /** It goes on. */
  | { readonly kind: 'pending' }
  /** It failed, or was called off. */
  | { readonly kind: 'failed'; readonly message: string };

/** Adds and removes workers, as the worker API does. Token: {@link WORKER_REGISTRAR}. */
export interface WorkerRegistrar {
  /** Takes a registration up, or joins the one of this URL: asking twice is no mistake. Never throws. */
  ensure(spec: WorkerSpecWire): RegistrarAnswer;
  /**
   * Waits for a registration, at most `waitMs` and while `left` has not fired. Never rejects.
   * @param id of a worker, or of a registration under way.
   */
  outcomeOf(id: string, waitMs: number, left: AbortSignal): Promise<RegistrationOutcome>;
  /** Removes the engine at a URL, every rank of it. Never throws. */
  removeEngine(url: string): RegistrarAnswer;
}

/** Service token of the {@link WorkerRegistrar}; provided globally by RegistryModule. */
export const WORKER_REGISTRAR = 'smg:worker-registrar';
