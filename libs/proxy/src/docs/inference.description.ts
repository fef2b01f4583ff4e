import { ApiBody, ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { ROUTED_WORKER_ID, ROUTING_KEY, VERSION_POLICY } from '@smg/protocol';
import {
  CHAT_BODY,
  CLASSIFY_BODY,
  COMPLETIONS_BODY,
  EMBEDDINGS_BODY,
  GENERATE_BODY,
  type InferenceBody,
  MESSAGES_BODY,
  RERANK_BODY,
  RERANK_V1_BODY,
  RESPONSES_BODY,
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
    embeddings: [ApiTags('Inference'), ...inference('Embeddings', EMBEDDINGS_BODY, false)],
    classify: [ApiTags('Inference'), ...inference('Classification', CLASSIFY_BODY, false)],
    rerank: [ApiTags('Inference'), ...inference('Rerank documents', RERANK_BODY, false)],
    rerankV1: [
      ApiTags('Inference'),
      ...inference('Rerank documents with any worker', RERANK_V1_BODY, false),
    ],
    modelInfo: [
      ApiTags('Information'),
      ...relayed('Model of an engine', '`/get_model_info`, then at `/model_info`'),
    ],
    serverInfo: [
      ApiTags('Information'),
      ...relayed('Settings of an engine', '`/get_server_info`, then at `/server_info`'),
    ],
    healthGenerate: [
      ApiTags('Information'),
      ...relayed('An engine can generate', '`/health_generate`'),
    ],
  },
};
