import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CONNECTION_MODES, WORKER_STATUSES, WORKER_TYPES } from '@smg/protocol';
import { RlCapabilitiesModel } from './rl-capabilities.model';

const Size = (of: string): PropertyDecorator =>
  ApiProperty({
    type: 'integer',
    minimum: 0,
    nullable: true,
    description: `${of} size, from the label of that name; null when it is missing or no integer.`,
  });

/** One engine (data-parallel ranks collapsed), as R1, R2 and R5 to R8 report it. */
@ApiSchema({ name: 'RlWorkerEntry' })
export class RlWorkerEntryModel {
  @ApiProperty({ format: 'uuid', description: 'The id `GET /workers` reports.' })
  readonly id!: string;
  @ApiProperty({ description: 'Registered URL; a data-parallel rank has a suffix `@<rank>`.' })
  readonly url!: string;
  @ApiProperty({ description: 'Address of the engine, where control calls go.' })
  readonly base_url!: string;
  @ApiProperty({ example: 'sglang', description: '`unknown` when it was not recognised.' })
  readonly engine!: string;
  @ApiProperty({ type: String, nullable: true, description: 'Label `version`.' })
  readonly engine_version!: string | null;
  @ApiProperty({ description: 'Model the worker serves.' })
  readonly model_id!: string;
  @ApiProperty({ enum: WORKER_TYPES })
  readonly worker_type!: string;
  @ApiProperty({ enum: CONNECTION_MODES, description: 'Only `http` workers can be called.' })
  readonly connection_mode!: string;
  @Size('Tensor-parallel')
  readonly tp_size!: number | null;
  @Size('Data-parallel')
  readonly dp_size!: number | null;
  @Size('Pipeline-parallel')
  readonly pp_size!: number | null;
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: 'Data-parallel ranks at this address; 1 for an engine that is one worker.',
  })
  readonly dp_ranks!: number;
  @ApiProperty({ type: String, nullable: true, description: 'Label `role`.' })
  readonly role!: string | null;
  @ApiProperty({ enum: WORKER_STATUSES })
  readonly health!: string;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Weight version as last written or observed; null while there is none.',
  })
  readonly weight_version!: string | null;
  @ApiProperty({
    enum: ['registration', 'passthrough', 'api'],
    nullable: true,
    type: String,
    description: 'Where the version comes from.',
  })
  readonly version_source!: string | null;
  @ApiProperty({
    enum: ['active', 'paused', 'asleep'],
    description: 'Only `active` engines get requests.',
  })
  readonly control!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Labels of the registration, as they are.',
  })
  readonly labels!: Readonly<Record<string, string>>;
  @ApiProperty({ type: RlCapabilitiesModel })
  readonly capabilities!: RlCapabilitiesModel;
}
