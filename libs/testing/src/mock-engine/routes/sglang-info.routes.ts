import { type ReportedLoad } from '../engine-state';
import { type EngineKind } from '../mock-engine.options';
import { type RouteContext, type RouteTable } from '../route-table';

/** Version string reported by the mock. */
export const SGLANG_VERSION = '0.5.15.post1';
/** Requests an engine says it can run at once. */
const MAX_RUNNING_REQUESTS = 2_048;
const CONTEXT_LENGTH = 32_768;
/** Tokens an engine says its KV cache holds. */
const MAX_TOTAL_TOKENS = 1_048_576;

/** An engine says it is well while it runs, pauses and sleeps alike. */
export const health = (context: RouteContext): Promise<void> => context.answer.send(200, '', '');

/** Makes one token, so it cannot be answered while memory is released. */
function healthGenerate(context: RouteContext): Promise<void> {
  if (context.state.isAsleep) return context.answer.json(503, { status: 'unhealthy' });
  return context.answer.json(200, { status: 'ok', port: context.port });
}

export function loadOf(context: RouteContext): { running: number; waiting: number } {
  const total = context.state.running.size;
  return context.state.mayGenerate
    ? { running: total, waiting: 0 }
    : { running: 0, waiting: total };
}

function serverInfo(context: RouteContext): Promise<void> {
  const { options, state, port } = context;
  const { running, waiting } = loadOf(context);
  return context.answer.json(200, {
    model_path: options.model,
    tokenizer_path: 'mock-tokenizer-path',
    served_model_name: options.servedModelName,
    host: options.host,
    port,
    tp_size: 1,
    dp_size: options.dpSize,
    pp_size: 1,
    load_balance_method: 'round_robin',
    disaggregation_mode: 'null',
    is_embedding: false,
    context_length: CONTEXT_LENGTH,
    max_total_tokens: MAX_TOTAL_TOKENS,
    max_running_requests: MAX_RUNNING_REQUESTS,
    max_num_batched_tokens: 8_192,
    schedule_policy: 'fcfs',
    weight_version: state.weightVersion,
    version: SGLANG_VERSION,
    internal_states: Array.from({ length: options.dpSize }, (_, rank) => ({
      dp_rank: rank,
      num_running_reqs: running,
      num_waiting_reqs: waiting,
      effective_max_running_requests_per_dp: MAX_RUNNING_REQUESTS,
    })),
    ...options.labels,
  });
}

function modelInfo(context: RouteContext): Promise<void> {
  return context.answer.json(200, {
    model_path: context.options.model,
    tokenizer_path: 'mock-tokenizer-path',
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: context.state.weightVersion,
    has_image_understanding: false,
    has_audio_understanding: false,
    model_type: 'mock',
    architectures: ['MockForCausalLM'],
  });
}

/** `/v1/models` in the words of either engine. */
export function models(context: RouteContext): Promise<void> {
  const { kind, servedModelName, model } = context.options;
  return context.answer.json(200, {
    object: 'list',
    data: [
      {
        id: servedModelName,
        object: 'model',
        created: 1_700_000_000,
        owned_by: kind,
        root: model,
        parent: null,
        max_model_len: CONTEXT_LENGTH,
      },
    ],
  });
}

/** Requests are spread over ranks by their rank, or counted at rank 0. */
function rankLoad({ state }: RouteContext, rank: number): ReportedLoad {
  const mine = [...state.running].filter((generation) => (generation.dpRank ?? 0) === rank);
  const running = state.mayGenerate ? mine.length : 0;
  const tokens = mine.reduce((sum, one) => sum + one.promptTokens + one.tokens.length, 0);
  const { reportedLoads: told } = state;
  return {
    dp_rank: rank,
    num_reqs: mine.length,
    num_running_reqs: running,
    num_waiting_reqs: mine.length - running,
    num_waiting_uncached_tokens: 0,
    num_total_reqs: mine.length,
    num_used_tokens: tokens,
    max_total_num_tokens: MAX_TOTAL_TOKENS,
    token_usage: tokens / MAX_TOTAL_TOKENS,
    gen_throughput: 0,
    cache_hit_rate: 0,
    utilization: mine.length / MAX_RUNNING_REQUESTS,
    max_running_requests: MAX_RUNNING_REQUESTS,
    ...(told instanceof Array ? told[rank] : told),
  };
}

const rankLoads = (context: RouteContext): readonly ReportedLoad[] =>
  Array.from({ length: context.options.dpSize }, (_, rank) => rankLoad(context, rank));

function loads(context: RouteContext): Promise<void> {
  return context.answer.json(200, {
    timestamp: new Date().toISOString(),
    dp_rank_count: context.options.dpSize,
    num_reqs: context.state.running.size,
    loads: rankLoads(context),
  });
}

/** Gauges of `/metrics`, and the figures of `/v1/loads` they show. */
const GAUGES: Readonly<Record<EngineKind, Readonly<Record<string, string>>>> = {
  vllm: {
    num_requests_running: 'num_running_reqs',
    num_requests_waiting: 'num_waiting_reqs',
    kv_cache_usage_perc: 'token_usage',
  },
  sglang: {
    num_running_reqs: 'num_running_reqs',
    num_queue_reqs: 'num_waiting_reqs',
    token_usage: 'token_usage',
    gen_throughput: 'gen_throughput',
    cache_hit_rate: 'cache_hit_rate',
  },
};
const RANK_LABELS: Readonly<Record<EngineKind, string>> = { vllm: 'engine', sglang: 'dp_rank' };

/** Prometheus text in the names of either engine. */
export function metrics(context: RouteContext): Promise<void> {
  const { kind, servedModelName } = context.options;
  const ranks = rankLoads(context);
  const text = Object.entries(GAUGES[kind])
    .map(([name, figure]) => {
      const full = `${kind}:${name}`;
      const samples = ranks.map((load, rank) => {
        const labels = `${RANK_LABELS[kind]}="${rank}",model_name="${servedModelName}"`;
        return `${full}{${labels}} ${String(load[figure])}\n`;
      });
      return `# HELP ${full} Mock figure.\n# TYPE ${full} gauge\n${samples.join('')}`;
    })
    .join('');
  return context.answer.send(200, 'text/plain; version=0.0.4', text);
}

export function addSglangInfo(table: RouteTable): void {
  table
    .add('GET HEAD', '/health', health)
    .add('GET', '/health_generate', healthGenerate)
    .add('GET', '/server_info', serverInfo)
    .add('GET', '/get_server_info', serverInfo)
    .add('GET', '/model_info', modelInfo)
    .add('GET', '/get_model_info', modelInfo)
    .add('GET', '/v1/models', models)
    .add('GET', '/v1/loads', loads)
    .add('GET', '/metrics', metrics);
}
