/** Which engine's protocol a {@link MockEngine} speaks. */
export type EngineKind = 'sglang' | 'vllm';

/** How a {@link MockEngine} is set up. Times are milliseconds. */
export interface MockEngineOptions {
  /** Default `sglang`. */
  readonly kind?: EngineKind;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 0: a free port, known after `start()`. */
  readonly port?: number;
  /** Model path; default `mock-model`. */
  readonly model?: string;
  /** Name in `/v1/models`; default the model path. */
  readonly servedModelName?: string;
  /** Before the first token, and so before the head of a buffered answer; default 0. */
  readonly latencyMs?: number;
  /** Between tokens; default 0. */
  readonly tokenLatencyMs?: number;
  /** Tokens of an answer unless the request limits it further; default 8. */
  readonly tokens?: number;
  /** Version reported until a refit; default `default`, as engines do. */
  readonly weightVersion?: string;
  /** Data-parallel ranks behind this one address; default 1. */
  readonly dpSize?: number;
  /** 0..1: share of inference requests answered with `failStatus`; default 0. */
  readonly failRate?: number;
  /** Default 500. */
  readonly failStatus?: number;
  /** Bearer key required on everything but `/health`. */
  readonly apiKey?: string;
  /** Further members of `/server_info`; a registry that reads one makes it a label. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Changes the text of answers; the same seed and prompt give the same text. Default 1. */
  readonly seed?: number;
  /** What inference does while memory is released; default `error` (sglang), `hang` (vllm). */
  readonly whenAsleep?: 'error' | 'hang';
  /** What releasing memory does while requests run: newer SGLang builds die. Default `allow`. */
  readonly releaseWhenBusy?: 'allow' | 'crash';
  /** Idle time after which a kept-alive connection is closed; default 5000, as uvicorn does. */
  readonly keepAliveMs?: number;
  /** Requests kept in `requests`, oldest dropped first; default 1000. 0 keeps none. */
  readonly keepRequests?: number;
  /** Uniform in [0, 1), for `failRate` alone. */
  readonly random?: () => number;
}

export type ResolvedOptions = Required<Omit<MockEngineOptions, 'apiKey'>> & {
  readonly apiKey: string | undefined;
};

const DEFAULTS = {
  host: '127.0.0.1',
  port: 0,
  latencyMs: 0,
  tokenLatencyMs: 0,
  tokens: 8,
  weightVersion: 'default',
  dpSize: 1,
  failRate: 0,
  failStatus: 500,
  apiKey: undefined,
  labels: {},
  seed: 1,
  releaseWhenBusy: 'allow',
  keepAliveMs: 5_000,
  keepRequests: 1_000,
  random: Math.random,
} as const;

export function resolveOptions(options: MockEngineOptions): ResolvedOptions {
  const kind = options.kind ?? 'sglang';
  const model = options.model ?? 'mock-model';
  return {
    ...DEFAULTS,
    kind,
    model,
    servedModelName: model,
    whenAsleep: kind === 'sglang' ? 'error' : 'hang',
    ...options,
  };
}
