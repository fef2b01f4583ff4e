import { choice } from '../kinds/choices';
import { append, flag, list, one, optional } from '../kinds/combine';
import { seconds, u16, usize } from '../kinds/numbers';
import { modelAlias } from '../kinds/pairs';
import { filled, host } from '../kinds/texts';
import { workerUrl } from '../kinds/worker-url';
import { inert, option, unavailable } from '../option';

/** The main listener, the workers known at start, and how they are registered. */
export const LISTENER_OPTIONS = [
  option('listener.host', 'host', one(host), {
    default: '0.0.0.0',
    doc: 'Address the main port is bound to.',
  }),
  option('listener.port', 'port', one(u16(1)), {
    default: 30_000,
    doc: 'Main port: inference, probes and the control plane.',
  }),
  option('listener.healthCheckPort', 'health-check-port', optional(one(u16(1))), {
    default: undefined,
    doc: 'Extra plain-HTTP port that serves only `/liveness`, `/readiness` and `/health`; the main port keeps them.',
  }),
  option('workers.urls', 'worker-urls', list(workerUrl), {
    default: [],
    doc: 'Engines to register at the start; more can be added later over `/workers`.',
  }),
  option('workers.startupTimeoutSecs', 'worker-startup-timeout-secs', one(seconds(1)), {
    default: 1800,
    doc: 'How long the registration of one worker may take.',
  }),
  option('workers.startupDelaySecs', 'worker-startup-delay', one(seconds()), {
    default: 0,
    doc: 'Seconds before the first start-up probe of a worker.',
  }),
  option('workers.startupCheckIntervalSecs', 'worker-startup-check-interval', one(seconds(1)), {
    default: 30,
    doc: 'Seconds between attempts to reach a worker that is being registered.',
  }),
  option('workers.registrationWaitSecs', 'registration-wait-secs', one(seconds()), {
    default: 0,
    ours: true,
    doc: 'How long `POST /workers` waits for its worker to be ready, at most 300; a `Prefer: wait=<seconds>` header says otherwise. 0 answers at once.',
  }),
  option('workers.jobQueueCapacity', 'job-queue-capacity', one(usize(1, 1_000_000)), {
    default: 1000,
    doc: 'Worker jobs (add, replace, remove) that may wait; more are refused.',
  }),
  option('workers.jobQueueConcurrency', 'job-queue-concurrency', one(usize(1, 100_000)), {
    default: 200,
    doc: 'Worker jobs that run at the same time.',
  }),
  option(
    'workers.backend',
    'backend',
    one(
      choice(['auto', 'sglang', 'vllm', 'trtllm', 'tokenspeed'], ['openai', 'anthropic', 'gemini']),
    ),
    {
      default: 'auto',
      aliases: ['runtime'],
      doc: 'Engine of the start-up workers; `auto` asks each of them.',
    },
  ),
  option('workers.dpAware', 'dp-aware', flag, {
    default: false,
    doc: 'Register one worker per data-parallel rank of an engine.',
  }),
  option('workers.modelAliases', 'model-alias', append(modelAlias), {
    default: [],
    doc: 'Serve a model under one more name.',
  }),
  unavailable('zmq-engine-count', optional(one(usize(1))), {
    default: undefined,
    doc: 'Number of engines behind a ZMQ socket.',
  }),
  unavailable('upstream-http2', flag, {
    default: false,
    doc: 'HTTP/2 with prior knowledge (h2c) to every worker.',
  }),
  inert('runtime-worker-threads', optional(one(usize(1))), {
    default: undefined,
    doc: 'Threads of the asynchronous runtime.',
    because: 'a Node process serves from one event loop; run more processes instead',
  }),
] as const;

/** Tokenizers, parsers and tools that run inside the gateway. */
export const TOKENIZER_OPTIONS = [
  unavailable('model-path', optional(one(filled())), {
    default: undefined,
    aliases: ['model'],
    doc: 'Model whose tokenizer is loaded.',
  }),
  unavailable('tokenizer-path', optional(one(filled())), {
    default: undefined,
    doc: 'Tokenizer to load instead of the one of the model.',
  }),
  unavailable('chat-template', optional(one(filled())), {
    default: undefined,
    doc: 'Chat template file.',
  }),
  inert('disable-tokenizer-autoload', flag, {
    default: false,
    doc: 'Do not load a tokenizer at the start.',
    because: 'the gateway loads no tokenizer',
  }),
  unavailable('tokenizer-cache-enable-l0', flag, {
    default: false,
    doc: 'Cache whole tokenised prompts.',
  }),
  unavailable('tokenizer-cache-l0-max-entries', one(usize()), {
    default: 10_000,
    doc: 'Entries of the whole-prompt cache.',
  }),
  unavailable('tokenizer-cache-enable-l1', flag, {
    default: false,
    doc: 'Cache tokenised prefixes.',
  }),
  unavailable('tokenizer-cache-l1-max-memory', one(usize()), {
    default: 52_428_800,
    doc: 'Bytes of the prefix cache.',
  }),
  unavailable('reasoning-parser', optional(one(filled())), {
    default: undefined,
    doc: 'Parser of reasoning output.',
  }),
  unavailable('tool-call-parser', optional(one(filled())), {
    default: undefined,
    doc: 'Parser of tool calls.',
  }),
  unavailable('mcp-config-path', optional(one(filled('path'))), {
    default: undefined,
    doc: 'MCP servers the gateway may call.',
  }),
  unavailable(
    'multimodal-tensor-transport',
    optional(one(choice(['inline', 'shm', 'auto', 'rdma']))),
    {
      default: undefined,
      doc: 'How image tensors travel to gRPC engines.',
    },
  ),
  unavailable('multimodal-shm-min-bytes', optional(one(usize())), {
    default: undefined,
    doc: 'Smallest tensor sent through shared memory.',
  }),
] as const;
