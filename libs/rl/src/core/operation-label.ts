/** Engine paths that have a metric series of their own. Source: SMG RL contract 10. */
const OPERATIONS: ReadonlySet<string> = new Set([
  'pause_generation',
  'continue_generation',
  'update_weights_from_disk',
  'update_weights_from_tensor',
  'update_weights_from_distributed',
  'init_weights_update_group',
  'destroy_weights_update_group',
  'update_weight_version',
  'flush_cache',
  'abort_request',
  'release_memory_occupation',
  'resume_memory_occupation',
  'pause',
  'resume',
  'sleep',
  'wake_up',
  'collective_rpc',
  'server_info',
  'get_server_info',
  'health',
]);

/** Value of the `op` label of a control call: bounded, whatever paths callers think of. */
export function operationLabel(path: string): string {
  return OPERATIONS.has(path) ? path : 'other';
}
