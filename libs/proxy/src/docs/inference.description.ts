import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiOperation,
  ApiQuery,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { ROUTED_WORKER_ID, ROUTING_KEY, VERSION_POLICY } from '@smg/protocol';
import {
  CHAT_BODY,
  CLIENT_SECRET_BODY,
  CLASSIFY_BODY,
  COMPLETIONS_BODY,
  DETOKENIZE_BODY,
  EMBEDDINGS_BODY,
  GENERATE_BODY,
  type InferenceBody,
  MESSAGES_BODY,
  REALTIME_BODY,
  RERANK_BODY,
  RERANK_V1_BODY,
  RENDER_BODY,
  RESPONSES_BODY,
  RID,
  TOKENIZE_BODY,
  TOKENS_BODY,
  TRANSCRIPTION_FORM,
} from './inference-bodies';
import { Errors, INFERENCE_ERRORS, RELAY_ERRORS } from './inference-errors';

type Route =
  | 'generate'
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'rerankV1'
  | 'rerank'
  | 'classify'
  | 'messages'
  | 'responses'
  | 'transcriptions'
  | 'realtime'
  | 'realtimeSessions'
  | 'realtimeClientSecrets'
  | 'realtimeTranscription'
  | 'inferenceGenerate'
  | 'skyrlGenerate'
  | 'renderChat'
  | 'tokenize'
  | 'detokenize'
  | 'plainModelInfo'
  | 'plainServerInfo'
  | 'modelInfo'
  | 'serverInfo'
  | 'healthGenerate';

const ANSWER = { type: 'object', additionalProperties: true } as const;

const WORKER_HEADER = {
  [ROUTED_WORKER_ID]: {
    schema: { type: 'string' as const },
    description: 'URL of the worker that answered.',
  },
};

const HEADERS = [
  ApiHeader({
    name: ROUTING_KEY,
    required: false,
    schema: { type: 'string' },
    description: 'Key for policies that route by one, 1 to 128 bytes.',
  }),
  ApiHeader({
    name: VERSION_POLICY,
    required: false,
    schema: { type: 'string' },
    description:
      'With `--enable-rl`: which weight versions may answer. Malformed: 400 `invalid_version_policy`.',
  }),
];

function inference(
  summary: string,
  { schema, examples }: InferenceBody,
  streams: boolean,
): MethodDecorator[] {
  return [
    ApiOperation({
      summary,
      description:
        'The body goes to the engine byte for byte, and its answer comes back likewise, whatever its status. ' +
        'What the gateway does not route by it does not check.',
    }),
    ...HEADERS,
    ApiBody({ required: true, schema, examples }),
    ApiResponse({
      status: 200,
      description: "The engine's answer.",
      headers: WORKER_HEADER,
      content: {
        'application/json': { schema: ANSWER },
        ...(streams ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
      },
    }),
    Errors(...INFERENCE_ERRORS),
  ];
}

const RANKING = {
  type: 'object',
  properties: {
    results: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          score: { type: 'number' },
          document: { type: 'string' },
          index: { type: 'integer' },
          meta_info: { type: 'object', additionalProperties: true },
        },
        required: ['score', 'index'] as string[],
      },
    },
    model: { type: 'string' },
    usage: { type: 'string', nullable: true, description: 'Always null.' },
    object: { type: 'string', example: 'rerank' },
    id: { ...RID, nullable: true },
    created: { type: 'integer', description: 'Unix time in seconds.' },
  },
} as const;

const rerank = (summary: string, { schema, examples }: InferenceBody): MethodDecorator[] => [
  ApiOperation({
    summary,
    description: 'Engines are asked at `/v1/rerank`; the answer has one shape for all of them.',
  }),
  ...HEADERS,
  ApiBody({ required: true, schema, examples }),
  ApiResponse({
    status: 200,
    description: 'The ranking, in the order of the engine.',
    headers: WORKER_HEADER,
    content: { 'application/json': { schema: RANKING } },
  }),
  Errors(...INFERENCE_ERRORS, 'rerank_response_build_failed'),
];

const TRANSCRIPTION: MethodDecorator[] = [
  ApiOperation({
    summary: 'Transcription of audio',
    description:
      'The form goes to one worker, byte for byte but for an alias. A form that breaks a rule is refused in plain text.',
  }),
  ...HEADERS,
  ApiConsumes('multipart/form-data'),
  ApiBody({
    required: true,
    schema: TRANSCRIPTION_FORM.schema,
    examples: TRANSCRIPTION_FORM.examples,
  }),
  ApiResponse({
    status: 200,
    description: "The engine's answer.",
    headers: WORKER_HEADER,
    content: {
      'application/json': { schema: ANSWER },
      'text/event-stream': { schema: { type: 'string' } },
    },
  }),
  Errors(...INFERENCE_ERRORS, 'invalid_request'),
];

const session = (summary: string, { schema, examples }: InferenceBody): MethodDecorator[] => [
  ApiOperation({
    summary,
    description:
      'Asked of the least busy worker with the label `realtime=true`, once; its status, type and body are relayed. ' +
      '401 `missing_credentials` without a body: neither the client nor the worker has credentials.',
  }),
  ...HEADERS,
  ApiBody({ required: true, schema, examples }),
  ApiResponse({
    status: 200,
    description: "The engine's answer.",
    headers: WORKER_HEADER,
    content: { 'application/json': { schema: ANSWER } },
  }),
  Errors(...INFERENCE_ERRORS),
];

const SOCKET: MethodDecorator[] = [
  ApiOperation({
    summary: 'Realtime session over WebSocket',
    description: 'After the handshake frames pass between client and engine as they are.',
  }),
  ...HEADERS,
  ApiQuery({
    name: 'model',
    required: true,
    schema: { type: 'string', example: 'mock-model' },
    description: 'Model or alias.',
  }),
  ApiResponse({ status: 101, description: 'The connection speaks WebSocket.' }),
  Errors(
    'invalid_request',
    'model_not_found',
    'upgrade_required',
    'no_available_workers',
    'workers_filtered',
    'call_upstream_request_error',
    'upstream_invalid_response',
    'call_upstream_timeout',
  ),
];

const relayed = (summary: string, paths: string): MethodDecorator[] => [
  ApiOperation({ summary, description: `The first ready worker is asked at ${paths}.` }),
  ApiResponse({
    status: 200,
    description: "The engine's answer, relayed as it is; its body may be empty.",
    headers: WORKER_HEADER,
    content: { 'application/json': { schema: ANSWER } },
  }),
  Errors(...RELAY_ERRORS),
];

export const INFERENCE_DESCRIPTION: RouteDescriptions<Route> = {
  controller: [],
  methods: {
    chat: [ApiTags('Inference'), ...inference('Chat completion', CHAT_BODY, true)],
    completions: [ApiTags('Inference'), ...inference('Completion', COMPLETIONS_BODY, true)],
    responses: [ApiTags('Inference'), ...inference('Response', RESPONSES_BODY, true)],
    messages: [ApiTags('Inference'), ...inference('Message', MESSAGES_BODY, true)],
    generate: [
      ApiTags('Inference'),
      ...inference("Generate, SGLang's own route", GENERATE_BODY, true),
      Errors('missing_model'),
    ],
    inferenceGenerate: [
      ApiTags('Inference'),
      ...inference("Generate from token ids, vLLM's own route", TOKENS_BODY, true),
    ],
    skyrlGenerate: [
      ApiTags('Inference'),
      ...inference('The same of servers that SkyRL starts', TOKENS_BODY, true),
    ],
    renderChat: [
      ApiTags('Inference'),
      ...inference('Token ids of a chat, without an answer', RENDER_BODY, false),
    ],
    tokenize: [
      ApiTags('Inference'),
      ...inference('Token ids of a text or chat', TOKENIZE_BODY, false),
    ],
    detokenize: [ApiTags('Inference'), ...inference('Text of token ids', DETOKENIZE_BODY, false)],
    embeddings: [ApiTags('Inference'), ...inference('Embeddings', EMBEDDINGS_BODY, false)],
    classify: [ApiTags('Inference'), ...inference('Classification', CLASSIFY_BODY, false)],
    rerank: [ApiTags('Inference'), ...rerank('Rerank documents', RERANK_BODY)],
    rerankV1: [ApiTags('Inference'), ...rerank('Rerank documents with any worker', RERANK_V1_BODY)],
    transcriptions: [ApiTags('Inference'), ...TRANSCRIPTION],
    realtime: [ApiTags('Inference'), ...SOCKET],
    realtimeSessions: [ApiTags('Inference'), ...session('Realtime session', REALTIME_BODY)],
    realtimeClientSecrets: [
      ApiTags('Inference'),
      ...session('Key of a realtime session', CLIENT_SECRET_BODY),
    ],
    realtimeTranscription: [
      ApiTags('Inference'),
      ...session('Realtime transcription session', REALTIME_BODY),
    ],
    modelInfo: [
      ApiTags('Information'),
      ...relayed('Model of an engine', '`/get_model_info`, then at `/model_info`'),
    ],
    serverInfo: [
      ApiTags('Information'),
      ...relayed('Settings of an engine', '`/get_server_info`, then at `/server_info`'),
    ],
    plainModelInfo: [
      ApiTags('Information'),
      ...relayed('Model of an engine', '`/model_info`, then at `/get_model_info`'),
    ],
    plainServerInfo: [
      ApiTags('Information'),
      ...relayed('Settings of an engine', '`/server_info`, then at `/get_server_info`'),
    ],
    healthGenerate: [
      ApiTags('Information'),
      ...relayed('An engine can generate', '`/health_generate`'),
    ],
  },
};
