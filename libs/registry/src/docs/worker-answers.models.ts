import { ApiProperty, ApiSchema, OmitType } from '@nestjs/swagger';
import { WORKER_STATUSES } from '@smg/protocol';
import { WorkerSpecDto } from './worker-spec.models';

@ApiSchema({ name: 'WorkerJob', description: 'What is under way, or why it failed.' })
export class WorkerJobModel {
  @ApiProperty({ type: 'string', description: 'Kind of the job.', example: 'AddWorker' })
  readonly job_type!: string;
  @ApiProperty({ type: 'string', description: 'URL it is about.' })
  readonly worker_url!: string;
  @ApiProperty({ type: 'string', enum: ['pending', 'processing', 'failed'] })
  readonly status!: string;
  @ApiProperty({
    type: 'string',
    required: false,
    description: 'What a registration waits for, or why it failed.',
  })
  readonly message?: string;
  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  readonly timestamp!: number;
}

@ApiSchema({ name: 'Worker', description: 'The specification, without the key, and its state.' })
export class WorkerInfoModel extends OmitType(WorkerSpecDto, ['api_key'] as const) {
  @ApiProperty({ type: 'string', format: 'uuid', description: 'Stays when it is replaced.' })
  readonly id!: string;
  @ApiProperty({
    type: 'string',
    required: false,
    description: 'First model; absent when it serves any.',
  })
  readonly model_id?: string;
  @ApiProperty({ type: 'boolean', description: '`status` is `ready`.' })
  readonly is_healthy!: boolean;
  @ApiProperty({
    type: 'string',
    enum: [...WORKER_STATUSES],
    description: 'Only `ready` gets requests.',
  })
  readonly status!: string;
  @ApiProperty({ type: 'integer', minimum: 0, description: 'Requests in flight.' })
  readonly load!: number;
  @ApiProperty({
    type: () => WorkerJobModel,
    required: false,
    description: 'While something is under way, and for five minutes after a failure.',
  })
  readonly job_status?: WorkerJobModel;
}

@ApiSchema({ name: 'WorkerStats' })
export class WorkerStatsModel {
  @ApiProperty({ type: 'integer' })
  readonly prefill_count!: number;
  @ApiProperty({ type: 'integer' })
  readonly decode_count!: number;
  @ApiProperty({ type: 'integer' })
  readonly regular_count!: number;
}

@ApiSchema({ name: 'WorkerList' })
export class WorkerListModel {
  @ApiProperty({ type: () => [WorkerInfoModel] })
  readonly workers!: readonly WorkerInfoModel[];
  @ApiProperty({ type: 'integer', example: 2 })
  readonly total!: number;
  @ApiProperty({ type: () => WorkerStatsModel, description: 'Workers by type.' })
  readonly stats!: WorkerStatsModel;
}

@ApiSchema({ name: 'WorkerChangeAccepted', description: 'The change is done in the background.' })
export class WorkerChangeModel {
  @ApiProperty({
    type: 'string',
    enum: ['accepted', 'ready'],
    description: '`ready`: a new worker that was waited for.',
  })
  readonly status!: string;
  @ApiProperty({ type: 'string', format: 'uuid' })
  readonly worker_id!: string;
  @ApiProperty({ type: 'string', example: 'Worker update queued for background processing' })
  readonly message!: string;
}

@ApiSchema({ name: 'WorkerAddAccepted', description: 'The engine is registered once it answers.' })
export class WorkerAddModel extends WorkerChangeModel {
  @ApiProperty({ type: 'string', description: 'Normalised.', example: 'http://127.0.0.1:31002' })
  readonly url!: string;
  @ApiProperty({ type: 'string', description: 'Path of the worker.' })
  readonly location!: string;
}

@ApiSchema({ name: 'WorkerApiError' })
export class WorkerErrorModel {
  @ApiProperty({ type: 'string', description: 'For people; the wording may change.' })
  readonly error!: string;
  @ApiProperty({ type: 'string', description: 'Stable code.', example: 'WORKER_NOT_FOUND' })
  readonly code!: string;
}
