import {
  ApiOperation,
  ApiProperty,
  ApiQuery,
  ApiResponse,
  ApiSchema,
  ApiTags,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

@ApiSchema({ name: 'SessionFinished' })
export class SessionFinishedModel {
  @ApiProperty({ type: 'string', enum: ['ok'] })
  readonly status!: string;
}

export const SESSIONS_DESCRIPTION: RouteDescriptions<'finish'> = {
  controller: [ApiTags('Inference')],
  methods: {
    finish: [
      ApiOperation({
        summary: 'A conversation is over',
        description:
          'Its routing key is forgotten. Whether it was known or not, the answer is 200.',
      }),
      ApiQuery({
        name: 'session_id',
        required: false,
        schema: { type: 'string', example: 'trajectory-7' },
        description: 'The routing key that its requests carried.',
      }),
      ApiResponse({ status: 200, type: SessionFinishedModel, description: 'Forgotten.' }),
    ],
  },
};
