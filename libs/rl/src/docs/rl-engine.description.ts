import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { RlCallOutcomeModel } from './rl-call-outcome.model';
import { RlFanoutResponseModel } from './rl-fanout-response.model';
import { RL_TAG, RL_TOO_LARGE, RlErrors, SELECTOR, WORKER_ID } from './rl-responses';

/** A route of the engine that the examples call. */
const READ = 'server_info';
const WRITE = 'pause_generation';

const common = (summary: string, example: string): MethodDecorator[] => [
  ApiOperation({
    summary,
    description:
      "The engine's route, query and body are the caller's. What pauses, refits or wakes an engine is noticed.",
  }),
  ApiParam({
    name: 'path',
    schema: { type: 'string', example },
    description:
      'Path on the engine: 1 to 4 segments of letters, digits, `.`, `_` and `-`. Swagger UI can send one segment.',
  }),
  RL_TOO_LARGE,
];

const BODY = ApiBody({
  required: false,
  description: 'Sent to the engine byte for byte.',
  schema: { type: 'object', additionalProperties: true },
  examples: { empty: { summary: 'No settings', value: {} } },
});

const oneEngine = (summary: string, example: string): MethodDecorator[] => [
  ...common(summary, example),
  WORKER_ID,
  ApiOkResponse({ type: RlCallOutcomeModel, description: 'The engine answered 200.' }),
  ApiResponse({
    status: 'default',
    type: RlCallOutcomeModel,
    description: "The engine's own status, whatever it is, with the same envelope.",
  }),
  RlErrors(
    'invalid_engine_path',
    'worker_not_found',
    'unsupported_connection_mode',
    'upstream_unreachable',
    'upstream_timeout',
  ),
];

const manyEngines = (summary: string, example: string): MethodDecorator[] => [
  ...common(summary, example),
  SELECTOR,
  ApiOkResponse({ type: RlFanoutResponseModel, description: 'Every target answered 2xx.' }),
  ApiResponse({
    status: 207,
    type: RlFanoutResponseModel,
    description: 'At least one target did not; `failed` names it.',
  }),
  RlErrors('selector_required', 'invalid_selector', 'invalid_engine_path', 'no_workers_match'),
];

export const RL_ENGINE_DESCRIPTION: RouteDescriptions<'get' | 'post' | 'getAll' | 'postAll'> = {
  controller: [RL_TAG],
  methods: {
    get: oneEngine('Call one engine with GET', READ),
    post: [...oneEngine('Call one engine with POST', WRITE), BODY],
    getAll: manyEngines('Call every engine that matches with GET', READ),
    postAll: [...manyEngines('Call every engine that matches with POST', WRITE), BODY],
  },
};
