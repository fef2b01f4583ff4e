import { type WorkerView } from '@smg/plugin-api';
import { type EngineState } from './engine-state';
import { type SelectorLookup } from './selector';

type Derive = (worker: WorkerView, state: EngineState | undefined) => string | undefined;

/** Keys that shadow a label of the same name. Source: SMG RL contract 3.2. */
const DERIVED: ReadonlyMap<string, Derive> = new Map<string, Derive>([
  ['id', (worker) => worker.id],
  ['url', (worker) => worker.url],
  ['base_url', (worker) => worker.baseUrl],
  ['engine', engineName],
  ['model', (worker) => worker.modelId],
  ['worker_type', (worker) => worker.workerType],
  ['connection_mode', (worker) => worker.connectionMode],
  ['health', (worker) => worker.status],
  ['control', (_, state) => state?.control ?? 'active'],
  // An engine without a version shows its label, `default` included.
  ['weight_version', (_, state) => state?.version?.text],
]);

/** What a selector sees of a worker. */
export function selectorKeys(worker: WorkerView, state: EngineState | undefined): SelectorLookup {
  return (key) => DERIVED.get(key)?.(worker, state) ?? worker.labels.get(key);
}

/** Name of a worker's engine; `unknown` while it is not detected. */
export function engineName(worker: WorkerView): string {
  return worker.runtime === '' ? 'unknown' : worker.runtime;
}
