import { type HealthConfigWire, type WorkerSpecWire } from '@smg/protocol';
import { type Worker } from './worker';

/** Body of PATCH `/workers/{id}`; members left out keep their value. */
export interface WorkerPatchWire {
  readonly priority?: number;
  readonly cost?: number;
  /** Merged key by key. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly api_key?: string;
  /** Merged member by member. */
  readonly health?: HealthConfigWire;
}

/** The specification of a worker with a patch applied; every field it does not name survives. */
export function patchSpec(worker: Worker, patch: WorkerPatchWire): WorkerSpecWire {
  const { spec } = worker;
  const apiKey = patch.api_key ?? worker.apiKey;
  return {
    ...spec,
    ...(patch.priority === undefined ? {} : { priority: patch.priority }),
    ...(patch.cost === undefined ? {} : { cost: patch.cost }),
    labels: { ...spec.labels, ...patch.labels },
    ...(patch.health === undefined ? {} : { health: { ...spec.health, ...patch.health } }),
    ...(apiKey === undefined ? {} : { api_key: apiKey }),
  };
}
