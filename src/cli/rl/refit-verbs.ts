/** One call of an engine's own routes. */
export interface EngineCall {
  readonly path: string;
  readonly params?: readonly (readonly [name: string, value: string])[];
  readonly body: object;
}

export interface RefitOrder {
  readonly modelPath: string;
  readonly weightVersion: string;
  /** How running requests are treated; the engine's own word. */
  readonly mode: string | undefined;
}

/** How an engine is given new weights from disk. */
export interface RefitVerbs {
  pause(order: RefitOrder): EngineCall;
  load(order: RefitOrder): readonly EngineCall[];
  /** The engine does not name its version in `load`, so the gateway is told. */
  readonly tellsVersion: boolean;
  readonly resume: EngineCall;
}

const SGLANG: RefitVerbs = {
  pause: ({ mode }) => ({ path: 'pause_generation', body: mode === undefined ? {} : { mode } }),
  load: ({ modelPath, weightVersion }) => [
    {
      path: 'update_weights_from_disk',
      body: { model_path: modelPath, weight_version: weightVersion, flush_cache: true },
    },
  ],
  tellsVersion: true,
  resume: { path: 'continue_generation', body: {} },
};

/** Routes of vLLM's development mode. Its own version routes are younger than these. */
const VLLM: RefitVerbs = {
  pause: ({ mode = 'keep' }) => ({ path: 'pause', params: [['mode', mode]], body: {} }),
  load: ({ modelPath }) => [
    {
      path: 'collective_rpc',
      body: { method: 'reload_weights', kwargs: { weights_path: modelPath } },
    },
    { path: 'reset_prefix_cache', body: {} },
  ],
  tellsVersion: false,
  resume: { path: 'resume', body: {} },
};

const VERBS: ReadonlyMap<unknown, RefitVerbs> = new Map([
  ['sglang', SGLANG],
  ['vllm', VLLM],
]);

/** By the `engine` of a row; undefined when it is not known how. */
export function refitVerbs(engine: unknown): RefitVerbs | undefined {
  return VERBS.get(engine);
}
