import { type WorkerView } from '@smg/plugin-api';
import { type EngineState } from './engine-state';
import { type SelectorLookup } from './selector';

/**
 * What a selector sees of a worker: the derived keys of the contract, then the labels. The version of
 * an engine that is not versioned falls through to its label. Source: SMG RL contract 3.2.
 */
export function selectorKeys(worker: WorkerView, state: EngineState | undefined): SelectorLookup {
  return (key) => derived(worker, state, key) ?? worker.labels.get(key);
}

function derived(
  worker: WorkerView,
  state: EngineState | undefined,
  key: string,
): string | undefined {
  switch (key) {
    case 'id':
      return worker.id;
    case 'url':
      return worker.url;
    case 'base_url':
      return worker.baseUrl;
    case 'engine':
      return worker.runtime === '' ? 'unknown' : worker.runtime;
    case 'model':
      return worker.modelId;
    case 'worker_type':
      return worker.workerType;
    case 'connection_mode':
      return worker.connectionMode;
    case 'health':
      return worker.status;
    case 'control':
      return state?.control ?? 'active';
    case 'weight_version':
      return state?.version?.text;
    default:
      return undefined;
  }
}
