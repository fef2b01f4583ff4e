import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { RlWorkerEntryModel } from './rl-worker-entry.model';

/** Answer of R1, R7 and R8. */
@ApiSchema({ name: 'RlWorkersResponse' })
export class RlWorkersResponseModel {
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'Version of this wire; it changes only with incompatible changes.',
  })
  readonly protocol_version!: number;
  @ApiProperty({ type: [RlWorkerEntryModel], description: 'By `base_url`, then `url`.' })
  readonly workers!: readonly RlWorkerEntryModel[];
  @ApiProperty({ type: 'integer', description: 'Number of rows.' })
  readonly total!: number;
}
