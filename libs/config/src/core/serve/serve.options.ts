import { choice } from '../kinds/choices';
import { flag, one, optional } from '../kinds/combine';
import { seconds, u16, usize } from '../kinds/numbers';
import { filled, host } from '../kinds/texts';
import { option, type AvailableOption } from '../option';

/** More engines than one machine has GPUs for; a slip of the keyboard starts no fork bomb. */
const MAX_ENGINES = 256;

/** Flags of `smg serve` that neither the gateway nor an engine gets as they are. */
export const SERVE_OPTIONS = [
  option('serve.backend', 'backend', one(choice(['sglang', 'vllm'], ['trtllm', 'tokenspeed'])), {
    default: 'sglang',
    env: 'SMG_DEFAULT_BACKEND',
    doc: 'Engine to start.',
  }),
  option('serve.connectionMode', 'connection-mode', one(choice(['http'], ['grpc', 'zmq'])), {
    default: 'http',
    doc: 'How the gateway speaks to the engines.',
  }),
  option('serve.host', 'host', one(host), {
    default: '127.0.0.1',
    doc: 'Address the gateway is bound to.',
  }),
  option('serve.port', 'port', one(u16(1)), { default: 8080, doc: 'Port of the gateway.' }),
  option('serve.engines', 'data-parallel-size', one(usize(1, MAX_ENGINES)), {
    default: 1,
    aliases: ['dp-size'],
    doc: 'Engines to start. With one, retries and the circuit breaker are off and the policy is passthrough.',
  }),
  option('serve.workerHost', 'worker-host', one(host), {
    default: '127.0.0.1',
    doc: 'Address the engines are bound to.',
  }),
  option('serve.workerBasePort', 'worker-base-port', one(u16(1)), {
    default: 31_000,
    doc: 'Port of the first engine; the others get free ones a little above it.',
  }),
  option('serve.startupTimeoutSecs', 'worker-startup-timeout', one(seconds(1)), {
    default: 300,
    doc: 'How long the engines may take to answer /health.',
  }),
  option('serve.tokenUsageDetails', 'enable-token-usage-details', flag, {
    default: false,
    doc: 'Have the engines report cached tokens in their usage.',
  }),
  option('serve.argFallbackDisabled', 'router-disable-arg-fallback', flag, {
    default: false,
    doc: 'Do not take options of the gateway from those of the engine.',
  }),
  option('serve.engineCommand', 'engine-command', optional(one(filled('command'))), {
    default: undefined,
    ours: true,
    doc: 'Program that is started as an engine, with its first arguments, instead of what --backend says.',
  }),
  option('serve.engineExit', 'engine-exit', one(choice(['stop', 'continue'])), {
    default: 'stop',
    ours: true,
    doc: 'When an engine ends while the gateway serves: end everything, or go on until none is left.',
  }),
] as const;

type ServeRow = (typeof SERVE_OPTIONS)[number];

type ValueOf<Row> = Row extends AvailableOption<string, infer V> ? V : never;

/** What `smg serve` is to start, computed from {@link SERVE_OPTIONS}. */
export type ServeSettings = {
  readonly [
    Row in ServeRow as Row['key'] extends `serve.${infer Name}` ? Name : never
  ]: ValueOf<Row>;
};
