import {
  ApiHeader,
  ApiOperation,
  ApiProperty,
  ApiQuery,
  ApiResponse,
  ApiSchema,
  ApiTags,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { WORKER_API_CODES, type WorkerApiCode } from '@smg/protocol';

@ApiSchema({ name: 'LegacyWorkerAnswer' })
export class LegacyWorkerModel {
  @ApiProperty({ type: 'string', enum: ['ready', 'accepted'] })
  readonly status!: string;
  @ApiProperty({ type: 'string', format: 'uuid' })
  readonly worker_id!: string;
  @ApiProperty({ type: 'string', example: 'http://127.0.0.1:31001' })
  readonly url!: string;
  @ApiProperty({ type: 'string' })
  readonly message!: string;
}

@ApiSchema({ name: 'LegacyWorkerError' })
export class LegacyErrorModel {
  @ApiProperty({ type: 'string' })
  readonly error!: string;
  @ApiProperty({ type: 'string', example: 'WORKER_NOT_FOUND' })
  readonly code!: string;
}

@ApiSchema({ name: 'LegacyWorkerList' })
export class LegacyListModel {
  @ApiProperty({ type: [String], example: ['http://127.0.0.1:31001'] })
  readonly urls!: readonly string[];
}

const URL_OF_WORKER = ApiQuery({
  name: 'url',
  required: true,
  schema: { type: 'string', example: 'http://127.0.0.1:31001' },
  description: 'URL of the engine.',
});

const refused = (code: WorkerApiCode): MethodDecorator =>
  ApiResponse({
    status: WORKER_API_CODES[code].status,
    type: LegacyErrorModel,
    description: `\`${code}\`: ${WORKER_API_CODES[code].meaning}`,
  });

const answered = (status: number, description: string): MethodDecorator =>
  ApiResponse({ status, type: LegacyWorkerModel, description });

export const LEGACY_WORKERS_DESCRIPTION: RouteDescriptions<'add' | 'remove' | 'list'> = {
  controller: [ApiTags('Workers')],
  methods: {
    add: [
      ApiOperation({
        summary: 'Add a worker, as older routers did',
        description: 'Waits until it is ready. One that is registered already is left as it is.',
      }),
      URL_OF_WORKER,
      ApiHeader({
        name: 'prefer',
        required: false,
        schema: { type: 'string', example: 'wait=30' },
        description: '`wait=<seconds>`, at most 300; 60 when it is left out.',
      }),
      answered(200, 'The worker is ready.'),
      answered(202, 'It is not ready yet; registration goes on.'),
      refused('BAD_REQUEST'),
      refused('INTERNAL_SERVER_ERROR'),
      refused('WORKER_REGISTRATION_FAILED'),
    ],
    remove: [
      ApiOperation({ summary: 'Remove an engine, as older routers did' }),
      URL_OF_WORKER,
      answered(200, 'Its workers get no new requests, and leave once they have settled.'),
      refused('BAD_REQUEST'),
      refused('WORKER_NOT_FOUND'),
      refused('INTERNAL_SERVER_ERROR'),
    ],
    list: [
      ApiOperation({ summary: 'URLs of the engines, as older routers listed them' }),
      ApiResponse({ status: 200, type: LegacyListModel, description: 'The URLs.' }),
    ],
  },
};
