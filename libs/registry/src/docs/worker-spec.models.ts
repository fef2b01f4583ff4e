import { CONNECTION_MODES, WORKER_TYPES } from '@smg/protocol';
import { ModelCardDto } from '../dto/model-card.dto';
import { WorkerPatchDto } from '../dto/worker-patch.dto';
import { HealthDto, HttpPoolDto, OverloadDto, ResilienceDto } from '../dto/worker-settings.dto';
import { WorkerSpecDto } from '../dto/worker-spec.dto';
import {
  describeModel,
  optionalFlag,
  optionalInt,
  optionalMap,
  optionalModel,
  optionalNumber,
  optionalStatuses,
  optionalText,
  optionalTexts,
} from './describe-model';

const MAX_PORT = 65_535;

describeModel(ModelCardDto, 'ModelCard', {
  id: { type: 'string', minLength: 1, description: 'Name requests use.', example: 'mock-model' },
  display_name: optionalText('Name for people.'),
  aliases: optionalTexts('Further names of the model.'),
  model_type: optionalTexts('Capabilities by name.'),
  hf_model_type: optionalText('`model_type` of the Hugging Face configuration.'),
  architectures: optionalTexts('`architectures` of the Hugging Face configuration.'),
  provider: optionalText('Shown as `owned_by` in `GET /v1/models`.'),
  context_length: optionalInt('Tokens a request may span.'),
  tokenizer_path: optionalText('Tokenizer of the model.'),
  chat_template: optionalText('Chat template of the model.'),
  reasoning_parser: optionalText('Parser of reasoning output.'),
  tool_parser: optionalText('Parser of tool calls.'),
  metadata: {
    type: 'object',
    additionalProperties: true,
    selfRequired: false,
    description: 'Anything; kept and shown as it is.',
  },
  id2label: {
    type: 'object',
    additionalProperties: true,
    selfRequired: false,
    description: 'Labels of a classifier by number.',
  },
  num_labels: optionalInt('Number of labels of a classifier.'),
});

describeModel(HealthDto, 'WorkerHealthSettings', {
  timeout_secs: optionalInt('Deadline of one probe, seconds.'),
  check_interval_secs: optionalInt('Seconds between probes.'),
  success_threshold: optionalInt('Successes in a row that make the worker ready.'),
  failure_threshold: optionalInt('Failures in a row that make it `not_ready`.'),
  disable_health_check: optionalFlag('The worker is never probed.'),
  drain_settle_secs: optionalInt('Seconds a removed worker stays as `draining`.'),
});

describeModel(HttpPoolDto, 'WorkerHttpPoolSettings', {
  pool_max_idle_per_host: optionalInt('Kept and shown, not used.'),
  pool_idle_timeout_secs: optionalInt('Kept and shown, not used.'),
  timeout_secs: optionalInt('Deadline of one attempt, seconds.', { minimum: 1 }),
  connect_timeout_secs: optionalInt('Kept and shown, not used.', { minimum: 1 }),
});

describeModel(ResilienceDto, 'WorkerResilienceSettings', {
  max_retries: optionalInt('Attempts in total.'),
  initial_backoff_ms: optionalInt('First pause, milliseconds.'),
  max_backoff_ms: optionalInt('Longest pause, milliseconds.'),
  backoff_multiplier: optionalNumber('Growth of the pause per attempt.', { minimum: 1 }),
  jitter_factor: optionalNumber('Share of the pause that is random.', { minimum: 0, maximum: 1 }),
  disable_retry: optionalFlag('A request is tried once.'),
  cb_failure_threshold: optionalInt('Failures in a row that open the circuit breaker.'),
  cb_success_threshold: optionalInt('Successes in a row that close it.'),
  cb_timeout_secs: optionalInt('Seconds it stays open.'),
  cb_window_secs: optionalInt('Kept and shown, not used.'),
  disable_circuit_breaker: optionalFlag('The breaker never opens.'),
  retryable_status_codes: optionalStatuses('Statuses of the engine that are tried again.'),
  capacity_status_codes: optionalStatuses('Statuses that mean "full", not "broken".'),
});

describeModel(OverloadDto, 'WorkerOverloadSettings', {
  waiting_requests: optionalInt('Waiting requests from which on it counts as overloaded.', {
    minimum: 1,
  }),
  token_usage: optionalNumber('Share of used KV cache from which on it counts as overloaded.', {
    maximum: 1,
  }),
});

const LABELS = optionalMap('Texts by name. Filters and policies read them.', {
  gpu_class: 'h200',
});
const API_KEY = optionalText('Key sent to the engine as a bearer. Never part of an answer.');
const PRIORITY = { ...optionalInt('A number policies may use; 50 by default.'), example: 50 };
const COST = optionalNumber('A number policies may use; 1 by default.');
const HEALTH = optionalModel(HealthDto, 'Probing of this worker; the flags of the gateway else.');

describeModel(WorkerSpecDto, 'WorkerSpecification', {
  url: {
    type: 'string',
    description:
      '`http://` or `https://`, no user, query or fragment. `http://host:port@2` is rank 2 of a data-parallel engine.',
    example: 'http://127.0.0.1:31002',
  },
  models: {
    type: () => [ModelCardDto],
    required: false,
    description: 'Models it serves. Left out: the engine is asked.',
  },
  worker_type: {
    type: 'string',
    enum: [...WORKER_TYPES],
    required: false,
    description: '`regular` by default; only regular workers get requests.',
  },
  connection_mode: {
    type: 'string',
    enum: [...CONNECTION_MODES],
    required: false,
    description: 'Follows from the scheme of the URL.',
  },
  runtime_type: optionalText('`sglang`, `vllm`, … Left out: the engine is asked.'),
  provider: optionalText('Provider of an external API.'),
  labels: LABELS,
  priority: PRIORITY,
  cost: COST,
  api_key: API_KEY,
  bootstrap_port: optionalInt('Bootstrap port of a prefill engine.', {
    minimum: 1,
    maximum: MAX_PORT,
  }),
  dp_base_url: optionalText('URL of the engine a data-parallel rank belongs to.'),
  dp_rank: optionalInt('Data-parallel rank.', { maximum: 99_999 }),
  dp_size: optionalInt('Data-parallel ranks of the engine.', { minimum: 1, maximum: 99_999 }),
  kv_connector: optionalText('KV connector of a disaggregated engine.'),
  kv_role: optionalText('KV role of a disaggregated engine.'),
  kv_engine_id: optionalText('KV engine id of a disaggregated engine.'),
  kv_block_size: optionalInt('Tokens of one KV block.'),
  health: HEALTH,
  http_pool: optionalModel(HttpPoolDto, 'Connections to this worker.'),
  resilience: optionalModel(ResilienceDto, 'Retries and circuit breaker of this worker.'),
  max_connection_attempts: optionalInt('Attempts after which a registration is given up.'),
  load_monitor_interval_secs: optionalInt(
    'Seconds between load reports, where it is less than for other workers of the model.',
  ),
  overload: optionalModel(
    OverloadDto,
    'From where on the worker gets no more requests; each limit over the global one.',
  ),
});

describeModel(WorkerPatchDto, 'WorkerPatch', {
  priority: PRIORITY,
  cost: COST,
  labels: { ...LABELS, description: 'Merged into the labels, name by name.' },
  api_key: API_KEY,
  health: { ...HEALTH, description: 'Merged into the settings, member by member.' },
});

export { WorkerPatchDto, WorkerSpecDto };
