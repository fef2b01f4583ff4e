/** A protocol of the demo's engines. */
export type EngineKind = 'sglang' | 'vllm';

/** One call of a refit: the engine's own route and body, sent through `/v1/rl`. */
export interface RefitStep {
  /** What it does, for people. */
  readonly doing: string;
  readonly path: string;
  readonly body: unknown;
  /** Milliseconds before the call, where a real engine would take its time and a mock does not. */
  readonly waitMs: number;
  /** From its answer on, the gateway counts the engine as having the new version. */
  readonly publishes: boolean;
}

/** As long as the mocks "read a checkpoint". */
const LOAD_MS = 400;

const step = (doing: string, path: string, body: unknown = {}): RefitStep => ({
  doing,
  path,
  body,
  waitMs: 0,
  publishes: false,
});

/**
 * The calls that put `version` on one engine. Running answers are kept over the pause and go on with
 * the new weights: those that are buffered come out flagged as mixed.
 */
export function refitSteps(kind: EngineKind, version: number): readonly RefitStep[] {
  const weight_version = String(version);
  if (kind === 'sglang') {
    return [
      step('pausing', 'pause_generation', { mode: 'in_place' }),
      {
        ...step('loading weights', 'update_weights_from_disk', {
          model_path: `/checkpoints/step-${version}`,
          weight_version,
          flush_cache: false,
        }),
        waitMs: LOAD_MS,
        publishes: true,
      },
      step('resuming', 'continue_generation'),
    ];
  }
  return [
    step('pausing', 'pause?mode=keep'),
    step('loading weights', 'start_weight_update'),
    { ...step('loading weights', 'update_weights', { update_info: {} }), waitMs: LOAD_MS },
    { ...step('loading weights', 'finish_weight_update', { weight_version }), publishes: true },
    step('resuming', 'resume'),
  ];
}
