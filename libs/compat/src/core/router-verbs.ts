/** A control route of engines that the gateway answers at its root, for all of them. */
export interface RouterVerb {
  /** The engine's path without a leading slash; the gateway's is the same. */
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** Changes nothing, whatever the method. */
  readonly isRead?: true;
}

const post = (...paths: string[]): RouterVerb[] =>
  paths.map((path) => ({ path, methods: ['POST'] }));
const either = (...paths: string[]): RouterVerb[] =>
  paths.map((path) => ({ path, methods: ['GET', 'POST'] }));
const read = (...paths: string[]): RouterVerb[] =>
  paths.map((path) => ({ path, methods: ['GET'], isRead: true }));

/**
 * What trainers call on an engine, or on a router they take for one. Methods are those the engines have.
 * Inference, `abort_request` and `flush_cache` have routes of their own.
 */
export const ROUTER_VERBS: readonly RouterVerb[] = [
  // SGLang, and engines that took its routes over.
  ...post('pause_generation', 'continue_generation'),
  ...either('release_memory_occupation', 'resume_memory_occupation'),
  ...post('update_weights_from_disk', 'update_weights_from_tensor'),
  ...post('update_weights_from_distributed', 'update_weights_from_ipc', 'update_weight_version'),
  ...post('begin_weight_update', 'end_weight_update'),
  ...post('init_weights_update_group', 'destroy_weights_update_group'),
  ...post('load_lora_adapter', 'unload_lora_adapter'),
  ...read('get_weight_version'),
  // vLLM.
  ...post('pause', 'resume', 'sleep', 'wake_up'),
  ...read('is_paused', 'is_sleeping'),
  ...post('init_weight_transfer_engine', 'start_weight_update', 'update_weights'),
  ...post('finish_weight_update', 'collective_rpc', 'reset_prefix_cache', 'abort_requests'),
  ...post('v1/load_lora_adapter', 'v1/unload_lora_adapter'),
  ...read('get_world_size', 'weight_info'),
  // Servers that SkyRL and prime-rl start.
  ...post('skyrl/v1/load_lora_adapter', 'fetch_weights', 'init_broadcaster'),
];

/** Name of the controller's method: `POST`, `v1/load_lora_adapter` as `postV1LoadLoraAdapter`. */
export function methodNameOf(method: string, path: string): string {
  return path
    .split(/[/_]/)
    .reduce(
      (name, word) => name + word.charAt(0).toUpperCase() + word.slice(1),
      method.toLowerCase(),
    );
}
