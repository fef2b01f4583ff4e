import {
  UNKNOWN_MODEL,
  type JobStatusWire,
  type WorkerInfoWire,
  type WorkerSpecWire,
} from '@smg/protocol';
import { type Worker } from './worker';

/** Attempts named in the contract's default. */
const DEFAULT_CONNECTION_ATTEMPTS = 20;

/** A registered worker as GET `/workers` shows it. Built of the keyless spec, never of the key. */
export function workerInfo(worker: Worker, job?: JobStatusWire): WorkerInfoWire {
  return {
    id: worker.id,
    ...(worker.modelId === UNKNOWN_MODEL ? {} : { model_id: worker.modelId }),
    ...worker.spec,
    worker_type: worker.workerType,
    connection_mode: worker.connectionMode,
    runtime_type: worker.runtime,
    labels: Object.fromEntries(worker.labels),
    priority: worker.priority,
    cost: worker.cost,
    max_connection_attempts: worker.spec.max_connection_attempts ?? DEFAULT_CONNECTION_ATTEMPTS,
    is_healthy: worker.status === 'ready',
    status: worker.status,
    load: worker.load,
    ...(job === undefined ? {} : { job_status: job }),
  };
}

/** A registration that is not finished, under the id reserved for it. */
export function pendingInfo(id: string, spec: WorkerSpecWire, job?: JobStatusWire): WorkerInfoWire {
  const { api_key: _key, ...shown } = spec;
  const model = spec.models?.[0]?.id;
  return {
    id,
    ...(model === undefined ? {} : { model_id: model }),
    ...shown,
    worker_type: spec.worker_type ?? 'regular',
    connection_mode: 'http',
    runtime_type: spec.runtime_type ?? 'unspecified',
    labels: spec.labels ?? {},
    priority: spec.priority ?? 50,
    cost: spec.cost ?? 1,
    max_connection_attempts: spec.max_connection_attempts ?? DEFAULT_CONNECTION_ATTEMPTS,
    is_healthy: false,
    status: 'pending',
    load: 0,
    ...(job === undefined ? {} : { job_status: job }),
  };
}
