import { type WorkerDirectory, type WorkerPoolView, type WorkerView } from '@smg/plugin-api';
import { type RouteFacts } from '../core/inference-routes';

/** The workers of a pool that carry a label; read anew whenever it is asked. */
export class LabelledPool implements WorkerPoolView {
  constructor(
    private readonly pool: WorkerPoolView,
    private readonly label: string,
    private readonly value: string,
  ) {}

  get model(): string {
    return this.pool.model;
  }

  get workers(): readonly WorkerView[] {
    return this.labelled(this.pool.workers);
  }

  available(): readonly WorkerView[] {
    return this.labelled(this.pool.available());
  }

  private labelled(workers: readonly WorkerView[]): readonly WorkerView[] {
    return Object.freeze(workers.filter(({ labels }) => labels.get(this.label) === this.value));
  }
}

/** The workers that may serve a model on a route. @param model as the client names it. */
export function poolOf(
  directory: WorkerDirectory,
  route: RouteFacts,
  model: string,
): WorkerPoolView | undefined {
  const pool = directory.pool(model, 'regular');
  if (pool === undefined || route.isRealtime !== true) return pool;
  return new LabelledPool(pool, 'realtime', 'true');
}
