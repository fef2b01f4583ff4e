import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { RlCallOutcomeDto } from './rl-call-outcome.dto';

/** A target that gave no 2xx answer. */
export class RlFailedCallDto {
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
@ApiExtraModels(RlCallOutcomeDto)
export class RlFanoutResponseDto {
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(RlCallOutcomeDto) },
    description: 'Every engine that answered, whatever its status, by worker id.',
  })
  readonly results!: Readonly<Record<string, RlCallOutcomeDto>>;
  @ApiProperty({ type: [RlFailedCallDto], description: 'By worker id.' })
  readonly failed!: readonly RlFailedCallDto[];
  @ApiProperty({ type: 'integer', description: 'Targets.' })
  readonly total!: number;
  @ApiProperty({ type: 'integer', description: 'Targets with a 2xx answer.' })
  readonly succeeded!: number;
}
