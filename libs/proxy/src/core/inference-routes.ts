import { type Endpoint } from '@smg/protocol';

/** What the gateway must know of an inference route; the controller declares the rest. */
export interface RouteFacts {
  readonly path: string;
  readonly endpoint: Endpoint;
  /** Prefix of request ids made here. */
  readonly idPrefix: string;
  /** Paths to try in turn on the engine while it answers 404. */
  readonly enginePaths: readonly string[];
}

const route = (path: string, endpoint: Endpoint, idPrefix: string): RouteFacts => ({
  path,
  endpoint,
  idPrefix,
  enginePaths: [path],
});

const info = (path: string, ...others: string[]): RouteFacts => ({
  path,
  endpoint: 'info',
  idPrefix: 'req-',
  enginePaths: [path, ...others],
});

/** Every route the data plane serves. */
export const INFERENCE_ROUTES: readonly RouteFacts[] = [
  route('/generate', 'generate', 'gnt-'),
  route('/v1/chat/completions', 'chat', 'chatcmpl-'),
  route('/v1/completions', 'completions', 'cmpl-'),
  route('/v1/embeddings', 'embeddings', 'req-'),
  route('/v1/rerank', 'rerank', 'req-'),
  route('/rerank', 'rerank', 'req-'),
  route('/v1/classify', 'classify', 'req-'),
  route('/v1/messages', 'messages', 'msg_'),
  route('/v1/responses', 'responses', 'resp-'),
  // Older and newer engines disagree about the names of these two.
  info('/get_model_info', '/model_info'),
  info('/get_server_info', '/server_info'),
  info('/health_generate'),
];
