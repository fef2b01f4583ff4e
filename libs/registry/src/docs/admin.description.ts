import { ApiOperation, ApiProperty, ApiResponse, ApiSchema, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

@ApiSchema({ name: 'FlushFailure' })
export class FlushFailureModel {
  @ApiProperty({ type: 'string', description: 'URL of the engine.' })
  readonly worker!: string;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
}

@ApiSchema({ name: 'FlushReport' })
export class FlushReportModel {
  @ApiProperty({ type: 'string', enum: ['success', 'partial_success'] })
  readonly status!: string;
  @ApiProperty({ type: 'string' })
  readonly message!: string;
  @ApiProperty({ type: 'integer', description: 'Engines that flushed their cache.' })
  readonly workers_flushed!: number;
  @ApiProperty({ type: 'integer', description: 'Engines that were asked.' })
  readonly total_http_workers!: number;
  @ApiProperty({ type: 'integer', description: 'Always 0.' })
  readonly total_grpc_workers!: number;
  @ApiProperty({ type: 'integer', description: 'Always 0.' })
  readonly total_zmq_workers_skipped!: number;
  @ApiProperty({ type: 'integer', description: 'Registered workers, ranks counted singly.' })
  readonly total_workers!: number;
  @ApiProperty({
    type: [String],
    required: false,
    description: 'Engines that did, when some did not.',
  })
  readonly successful?: readonly string[];
  @ApiProperty({ type: () => [FlushFailureModel], required: false })
  readonly failed?: readonly FlushFailureModel[];
}

@ApiSchema({ name: 'WorkerLoad' })
export class WorkerLoadModel {
  @ApiProperty({ type: 'string', description: 'URL of the worker.' })
  readonly worker!: string;
  @ApiProperty({ type: 'integer', description: 'Used tokens; -1 when the engine does not tell.' })
  readonly load!: number;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    selfRequired: false,
    description: "The engine's own answer, or what its metrics say in the same shape.",
  })
  readonly details?: object;
}

@ApiSchema({ name: 'WorkerLoads' })
export class WorkerLoadsModel {
  @ApiProperty({ type: () => [WorkerLoadModel] })
  readonly workers!: readonly WorkerLoadModel[];
}

export const ADMIN_DESCRIPTION: RouteDescriptions<'flushCache' | 'loads'> = {
  controller: [ApiTags('Fleet')],
  methods: {
    flushCache: [
      ApiOperation({ summary: 'Flush the KV cache of every engine' }),
      ApiResponse({ status: 200, type: FlushReportModel, description: 'Every engine did.' }),
      ApiResponse({ status: 206, type: FlushReportModel, description: 'Some did not.' }),
    ],
    loads: [
      ApiOperation({
        summary: 'Used tokens of every worker',
        description: 'Every engine is asked now, whatever it last reported.',
      }),
      ApiResponse({ status: 200, type: WorkerLoadsModel, description: 'As the engines report.' }),
    ],
  },
};
