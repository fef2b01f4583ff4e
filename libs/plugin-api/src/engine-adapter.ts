import { defineExtensionPoint } from './extension-point';

/** One answer of an engine to a discovery question. */
export interface EngineAnswer {
  readonly status: number;
  /** Parsed JSON; undefined when the body is not JSON. */
  readonly json: unknown;
}

/** Asks the engine under discovery; bearer key and deadline are the gateway's concern. */
export type AskEngine = (path: string) => Promise<EngineAnswer>;

/** What discovery learned. */
export interface EngineFacts {
  /** Become worker labels; labels an operator gave win over these. Empty values are left out. */
  readonly labels: Readonly<Record<string, string>>;
  readonly contextLength?: number;
  /** Capability names of the model card, such as `chat`, `generate`, `embeddings`. */
  readonly modelType?: readonly string[];
  readonly architectures?: readonly string[];
}

/** How an engine gives itself away when an operator has not named it. */
export interface EngineRecognition {
  /** Values of `owned_by` in its `/v1/models`. */
  readonly ownedBy: readonly string[];
  /** A path whose 2xx answer identifies the engine when no owner matched. */
  readonly path?: string;
  /** Ascending order in which paths are tried. */
  readonly order: number;
  /**
   * Takes an engine nobody recognised: `answers` when it has a model list of an unknown owner,
   * `silent` when it answered no question at all. The first adapter in order that says so is taken.
   */
  readonly fallback?: 'answers' | 'silent';
}

/** What a trainer may ask of an engine; informational, never checked. Source: SMG RL contract 13. */
export interface EngineCapabilities {
  readonly pauseModes: readonly string[];
  readonly updateFrom: readonly string[];
  readonly abort: boolean;
  readonly flushCache: boolean;
  readonly sleepWake: boolean;
  readonly reportsWeightVersion: boolean;
}

/** Memory an engine can release and take back. */
export const MEMORY_TAGS = ['weights', 'kv_cache', 'cuda_graph'] as const;
export type MemoryTag = (typeof MEMORY_TAGS)[number];

/** A control call as it is sent to an engine. */
export interface ControlCall {
  /** Engine path without a leading slash, such as `pause_generation`. */
  readonly path: string;
  /** Raw query without `?`; empty when there is none. */
  readonly query: string;
  readonly body: Buffer;
}

/** What a control call does to an engine once the engine has agreed. */
export type ControlEffect =
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  /** `tags` empty: all of them. */
  | { readonly kind: 'release'; readonly tags: readonly MemoryTag[] }
  | { readonly kind: 'restore'; readonly tags: readonly MemoryTag[] }
  /** Text as in the call, not validated yet. */
  | { readonly kind: 'version'; readonly version: string }
  /** A version field of an unusable JSON type: `boolean`, `array` or `object`. */
  | { readonly kind: 'unusable_version'; readonly found: string };

/**
 * What the gateway knows about one kind of engine. SGLang and vLLM are written against this
 * interface; no engine name appears outside `libs/engine`.
 */
export interface EngineAdapter {
  /** `runtime_type` of workers, such as `sglang`; unique. */
  readonly name: string;
  readonly recognition: EngineRecognition;
  /** Reads metadata. A rejection is tolerated: the worker is registered with what is known. */
  discover(ask: AskEngine): Promise<EngineFacts>;
  /** What it offers a trainer; nothing when left out. */
  readonly capabilities?: EngineCapabilities;
  /** Reads a control call; an empty list for one that changes nothing. Never throws. */
  effectsOf?(call: ControlCall): readonly ControlEffect[];
}

/** Register an {@link EngineAdapter}. */
export const ENGINE_ADAPTER = defineExtensionPoint<EngineAdapter>('smg:engine-adapter');

/** All adapters of this process. Token: {@link ENGINE_CATALOG}. */
export interface EngineCatalog {
  /** In recognition order. */
  all(): readonly EngineAdapter[];
  byName(name: string): EngineAdapter | undefined;
}

/** Service token of the {@link EngineCatalog}; provided globally by EngineModule. */
export const ENGINE_CATALOG = 'smg:engine-catalog';
