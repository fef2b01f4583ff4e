import { ApiBody, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { methodNameOf, ROUTER_VERBS, type RouterVerb } from '../core/router-verbs';

const REPORT = {
  'application/json': {
    schema: {
      type: 'object',
      properties: {
        success: { type: 'boolean', description: 'Every engine did as asked.' },
        results: {
          type: 'object',
          additionalProperties: true,
          description: 'By worker id, as `/v1/rl/engine/{path}` answers.',
        },
        failed: { type: 'array', items: { type: 'object', additionalProperties: true } },
        total: { type: 'integer' },
        succeeded: { type: 'integer' },
      },
      required: ['success', 'results', 'failed', 'total', 'succeeded'] as string[],
      additionalProperties: true,
    },
  },
} as const;

const answered = (status: number, description: string): MethodDecorator =>
  ApiResponse({ status, description, content: REPORT });

function describe(method: string, { path }: RouterVerb): readonly MethodDecorator[] {
  return [
    ApiOperation({
      summary: `\`${path}\` of every engine`,
      description:
        'With `--rl-router-verbs`. Sent to every engine as it is, and observed like any control call.',
    }),
    ...(method === 'POST'
      ? [
          ApiBody({
            required: false,
            schema: { type: 'object', additionalProperties: true },
            examples: { empty: { summary: 'What the engine takes', value: {} } },
          }),
        ]
      : []),
    answered(200, 'Every engine did as asked.'),
    answered(
      502,
      'Some engine did not, or could not be reached. Where those that failed agree on a status, it is that one.',
    ),
    ApiResponse({
      status: 503,
      description: '`no_workers`: No engine is registered.',
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    }),
  ];
}

export const ROUTER_VERBS_DESCRIPTION: RouteDescriptions = {
  controller: [ApiTags('RL control plane')],
  methods: Object.fromEntries(
    ROUTER_VERBS.flatMap((verb) =>
      verb.methods.map((method) => [methodNameOf(method, verb.path), describe(method, verb)]),
    ),
  ),
};
