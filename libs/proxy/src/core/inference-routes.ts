import { type Endpoint } from '@smg/protocol';

/** What the gateway must know of an inference route; the controller declares the rest. */
export interface RouteFacts {
  readonly path: string;
  readonly endpoint: Endpoint;
  /** Prefix of request ids made here. */
  readonly idPrefix: string;
  /** Paths to try in turn on the engine while it answers 404. */
  readonly enginePaths: readonly string[];
  /** JSON when left out. `socket`: a WebSocket, which the upgrade serves and not this route. */
  readonly carries?: 'json' | 'form' | 'socket';
  /** A body may pass through unread when it is large. */
  readonly mayStreamBody?: boolean;
  /** Field whose `model` names the model; the body's own when left out. */
  readonly modelParent?: string;
  /** Never sent to a second worker. */
  readonly isSentOnce?: boolean;
  /** Served by workers with the label `realtime=true`, the least busy one first. */
  readonly isRealtime?: boolean;
}

const route = (path: string, endpoint: Endpoint, idPrefix: string): RouteFacts => ({
  path,
  endpoint,
  idPrefix,
  enginePaths: [path],
});

const streamable = (path: string, endpoint: Endpoint, idPrefix: string): RouteFacts => ({
  ...route(path, endpoint, idPrefix),
  mayStreamBody: true,
});

const realtime = (name: string, endpoint: Endpoint, more: Partial<RouteFacts>): RouteFacts => ({
  ...route(`/v1/realtime${name}`, endpoint, 'req-'),
  isSentOnce: true,
  isRealtime: true,
  ...more,
});

const info = (path: string, ...others: string[]): RouteFacts => ({
  path,
  endpoint: 'info',
  idPrefix: 'req-',
  enginePaths: [path, ...others],
});

/** Every route the data plane serves. */
export const INFERENCE_ROUTES: readonly RouteFacts[] = [
  streamable('/generate', 'generate', 'gnt-'),
  // vLLM's: token ids in, token ids out; and the same of servers that trainers built on it.
  streamable('/inference/v1/generate', 'generate', 'gnt-'),
  streamable('/skyrl/v1/generate', 'generate', 'gnt-'),
  streamable('/v1/chat/completions', 'chat', 'chatcmpl-'),
  route('/v1/chat/completions/render', 'render', 'req-'),
  route('/tokenize', 'tokenize', 'req-'),
  route('/detokenize', 'detokenize', 'req-'),
  streamable('/v1/completions', 'completions', 'cmpl-'),
  streamable('/v1/embeddings', 'embeddings', 'req-'),
  route('/v1/rerank', 'rerank', 'req-'),
  // Engines agree on this name.
  { ...route('/rerank', 'rerank', 'req-'), enginePaths: ['/v1/rerank'] },
  streamable('/v1/classify', 'classify', 'req-'),
  streamable('/v1/messages', 'messages', 'msg_'),
  route('/v1/responses', 'responses', 'resp-'),
  {
    ...route('/v1/audio/transcriptions', 'audio_transcriptions', 'req-'),
    carries: 'form',
    isSentOnce: true,
  },
  realtime('', 'realtime', { carries: 'socket' }),
  realtime('/sessions', 'realtime_sessions', {}),
  realtime('/client_secrets', 'realtime_client_secrets', { modelParent: 'session' }),
  realtime('/transcription_sessions', 'realtime_transcription', {}),
  // Older and newer engines disagree about the names of these two.
  info('/get_model_info', '/model_info'),
  info('/get_server_info', '/server_info'),
  info('/model_info', '/get_model_info'),
  info('/server_info', '/get_server_info'),
  info('/health_generate'),
];
