import { ApiExtraModels, ApiProperty, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { RlCallOutcomeModel } from './rl-call-outcome.model';

/** A target that gave no 2xx answer. */
@ApiSchema({ name: 'RlFailedCall' })
export class RlFailedCallModel {
  @ApiProperty()
  readonly worker_id!: string;
  @ApiProperty()
  readonly url!: string;
  @ApiProperty({
    enum: [
      'upstream_error',
      'upstream_unreachable',
      'upstream_timeout',
      'unsupported_connection_mode',
    ],
  })
  readonly error!: string;
  @ApiProperty()
  readonly message!: string;
  @ApiProperty({
    type: 'integer',
    required: false,
    description: "The engine's status; with `upstream_error` alone.",
  })
  readonly status?: number;
  @ApiProperty({ required: false, description: 'With `unsupported_connection_mode` alone.' })
  readonly connection_mode?: string;
}

/** Answer of R4 once every call has ended. */
@ApiExtraModels(RlCallOutcomeModel)
@ApiSchema({ name: 'RlFanoutResponse' })
export class RlFanoutResponseModel {
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(RlCallOutcomeModel) },
    description: 'Every engine that answered, whatever its status, by worker id.',
  })
  readonly results!: Readonly<Record<string, RlCallOutcomeModel>>;
  @ApiProperty({ type: [RlFailedCallModel], description: 'By worker id.' })
  readonly failed!: readonly RlFailedCallModel[];
  @ApiProperty({ type: 'integer', description: 'Targets.' })
  readonly total!: number;
  @ApiProperty({ type: 'integer', description: 'Targets with a 2xx answer.' })
  readonly succeeded!: number;
}
