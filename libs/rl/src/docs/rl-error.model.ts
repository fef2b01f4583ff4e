import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** A refusal or failure of the control plane itself; an engine's own error comes as an outcome. */
@ApiSchema({ name: 'RlError' })
export class RlErrorModel {
  @ApiProperty({ description: 'Stable code.', example: 'worker_not_found' })
  readonly error!: string;
  @ApiProperty({ description: 'For people; the wording may change.' })
  readonly message!: string;
  @ApiProperty({ required: false, description: 'With `worker_not_found`: the id asked for.' })
  readonly id?: string;
  @ApiProperty({
    required: false,
    type: 'integer',
    description: 'With `invalid_selector`: byte offset into the trimmed selector.',
  })
  readonly offset?: number;
  @ApiProperty({ required: false, description: 'With `no_workers_match`: the selector.' })
  readonly selector?: string;
  @ApiProperty({
    required: false,
    description: 'With `unsupported_connection_mode`, `upstream_unreachable`, `upstream_timeout`.',
  })
  readonly worker_id?: string;
  @ApiProperty({ required: false, description: 'As `worker_id`.' })
  readonly url?: string;
  @ApiProperty({ required: false, description: 'With `unsupported_connection_mode`.' })
  readonly connection_mode?: string;
}
