import { type WorkerPoolView } from '@smg/plugin-api';
import { type Worker } from './worker';

/** What a pool asks of the table it belongs to. */
export interface PoolHost {
  readonly epoch: number;
  /** Grows when a worker is redefined: views keyed by an array's identity must be taken anew. */
  readonly definitionEpoch: number;
  /** Earliest time an open breaker wants another look, ms; Infinity when none is open. */
  readonly nextLookAt: number;
  /** Lets breakers whose time has come become half-open. */
  lookAgain(): void;
}

const EMPTY: readonly Worker[] = Object.freeze([]);

/** Workers of one model in one role. */
export class WorkerPool implements WorkerPoolView {
  workers: readonly Worker[] = EMPTY;
  #available: readonly Worker[] = EMPTY;
  #seenEpoch = -1;
  #seenDefinitions = -1;

  constructor(
    readonly model: string,
    private readonly host: PoolHost,
  ) {}

  available(): readonly Worker[] {
    const { host } = this;
    if (host.nextLookAt !== Number.POSITIVE_INFINITY) host.lookAgain();
    return host.epoch === this.#seenEpoch ? this.#available : this.#refresh();
  }

  /** Keeps registration order. */
  insert(worker: Worker): void {
    const next = [...this.workers];
    let at = next.length;
    while (at > 0 && (next[at - 1]?.sequence ?? -1) > worker.sequence) at--;
    next.splice(at, 0, worker);
    this.workers = Object.freeze(next);
  }

  remove(worker: Worker): void {
    this.workers = Object.freeze(this.workers.filter((other) => other !== worker));
  }

  /** Another model's change moves the epoch too; then the old array is still right and is kept. */
  #refresh(): readonly Worker[] {
    const { workers, host } = this;
    const before = this.#available;
    const found: Worker[] = [];
    let isSame = host.definitionEpoch === this.#seenDefinitions;
    for (const worker of workers) {
      if (!worker.isAvailable) continue;
      if (before[found.length] !== worker) isSame = false;
      found.push(worker);
    }
    if (!isSame || found.length !== before.length) this.#available = Object.freeze(found);
    this.#seenEpoch = host.epoch;
    this.#seenDefinitions = host.definitionEpoch;
    return this.#available;
  }
}
