import {
  ApiBody,
  ApiOperation,
  ApiProperty,
  ApiResponse,
  ApiSchema,
  ApiTags,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

@ApiSchema({ name: 'AbortFailure' })
export class AbortFailureModel {
  @ApiProperty({ type: 'string', description: 'URL of the engine.' })
  readonly worker!: string;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
}

@ApiSchema({ name: 'AbortReport' })
export class AbortReportModel {
  @ApiProperty({ type: 'boolean' })
  readonly success!: boolean;
  @ApiProperty({
    type: 'boolean',
    description: 'The engine that has the request is known; `false`: every engine was asked.',
  })
  readonly located!: boolean;
  @ApiProperty({ type: [String], description: 'Engines that took it.' })
  readonly asked!: readonly string[];
  @ApiProperty({ type: () => [AbortFailureModel] })
  readonly failed!: readonly AbortFailureModel[];
  @ApiProperty({ type: [String], description: 'Engines that have no such route.' })
  readonly skipped!: readonly string[];
}

export const ABORT_DESCRIPTION: RouteDescriptions<'abort'> = {
  controller: [ApiTags('Fleet')],
  methods: {
    abort: [
      ApiOperation({
        summary: 'Abort requests at the engines that have them',
        description:
          'The body goes to the engine as it is; to every engine where nobody knows which has the request.',
      }),
      ApiBody({
        required: true,
        schema: {
          type: 'object',
          properties: {
            rid: { type: 'string', description: 'Id of the request, or several in a list.' },
            prefix: { type: 'boolean', description: 'Every request whose id begins so.' },
            abort_all: { type: 'boolean', description: 'Everything, at every engine.' },
          },
          additionalProperties: true,
        },
        examples: {
          one: { summary: 'One request', value: { rid: 'sample-7' } },
          prefix: { summary: 'All of a group', value: { rid: 'group-7', prefix: true } },
          all: { summary: 'Everything', value: { abort_all: true } },
        },
      }),
      ApiResponse({ status: 200, type: AbortReportModel, description: 'Done.' }),
      ApiResponse({
        status: 400,
        description: '`invalid_request`: neither a `rid` nor `abort_all: true`.',
        content: {
          'application/json': { schema: { type: 'object', additionalProperties: true } },
        },
      }),
      ApiResponse({
        status: 502,
        type: AbortReportModel,
        description: 'An engine that had to be told was not.',
      }),
    ],
  },
};
