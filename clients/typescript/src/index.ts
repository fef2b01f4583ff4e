/**
 * Client for the RL control plane of the SMG gateway (`smg launch --enable-rl`).
 *
 * A trainer sees its rollout engines, calls their own routes through the gateway, and tells it versions and states.
 *
 * @example
 * ```ts
 * import { RL, paused } from 'smg-rl';
 *
 * const rl = new RL({ baseUrl: 'http://127.0.0.1:30000' });
 * const selector = 'engine=sglang';
 * await paused(rl, selector, () =>
 *   rl.fanout(
 *     'update_weights_from_disk',
 *     { model_path: '/checkpoints/step-42', weight_version: '42', flush_cache: true },
 *     { selector },
 *   ),
 * );
 * ```
 *
 * @packageDocumentation
 */
export { RL } from './rl.js';
export { paused } from './paused.js';
export { RlError } from './rl-error.js';
export { FanoutError } from './fanout-error.js';
export {
  type CallOptions,
  type FanoutOptions,
  type FleetOptions,
  type PausedOptions,
  type RequestOptions,
  type RLOptions,
} from './options.js';
export { type FetchAnswer, type FetchLike, type FetchRequest } from './fetch-like.js';
export { type Params, type ParamValue } from './encode.js';
export {
  type CallResult,
  type Capabilities,
  type ControlState,
  type FanoutFailure,
  type FanoutResult,
  type Worker,
} from './models.js';
