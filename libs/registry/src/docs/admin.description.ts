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

@ApiSchema({ name: 'FleetLoad' })
export class FleetLoadModel {
  @ApiProperty({ type: 'string', description: 'URL of the worker.' })
  readonly worker!: string;
  @ApiProperty({ type: 'integer' })
  readonly dp_rank!: number;
  @ApiProperty({ type: 'integer', description: 'Running and waiting.' })
  readonly num_reqs!: number;
  @ApiProperty({ type: 'integer', description: 'The same.' })
  readonly num_total_reqs!: number;
  @ApiProperty({ type: 'integer' })
  readonly num_running_reqs!: number;
  @ApiProperty({ type: 'integer' })
  readonly num_waiting_reqs!: number;
  @ApiProperty({ type: 'integer', required: false })
  readonly num_used_tokens?: number;
  @ApiProperty({ type: 'number', required: false, description: 'KV-cache use, 0..1.' })
  readonly token_usage?: number;
  @ApiProperty({
    type: 'boolean',
    description: '`false`: the engine said nothing; these are the requests this gateway sent it.',
  })
  readonly reported!: boolean;
}

@ApiSchema({ name: 'FleetLoads' })
export class FleetLoadsModel {
  @ApiProperty({ type: 'integer', description: 'Sum of the loads: 0 means drained.' })
  readonly num_reqs!: number;
  @ApiProperty({ type: 'integer', description: 'Entries of `loads`.' })
  readonly dp_rank_count!: number;
  @ApiProperty({ type: () => [FleetLoadModel] })
  readonly loads!: readonly FleetLoadModel[];
}

const FLUSH = (summary: string): MethodDecorator[] => [
  ApiOperation({ summary }),
  ApiResponse({ status: 200, type: FlushReportModel, description: 'Every engine did.' }),
  ApiResponse({ status: 206, type: FlushReportModel, description: 'Some did not.' }),
];

type Route = 'flushCache' | 'getFlushCache' | 'engineLoads' | 'loads';

export const ADMIN_DESCRIPTION: RouteDescriptions<Route> = {
  controller: [ApiTags('Fleet')],
  methods: {
    flushCache: FLUSH('Flush the KV cache of every engine'),
    getFlushCache: FLUSH('The same, as some clients of engines ask for it'),
    engineLoads: [
      ApiOperation({
        summary: 'Load of every worker, in the words of an engine',
        description: 'For clients that wait for an engine to be drained. Engines are asked now.',
      }),
      ApiResponse({ status: 200, type: FleetLoadsModel, description: 'The loads.' }),
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
