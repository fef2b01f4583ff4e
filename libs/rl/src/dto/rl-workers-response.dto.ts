import { ApiProperty } from '@nestjs/swagger';
import { RlWorkerEntryDto } from './rl-worker-entry.dto';

/** Answer of R1, R7 and R8. */
export class RlWorkersResponseDto {
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'Version of this wire; it changes only with incompatible changes.',
  })
  readonly protocol_version!: number;
  @ApiProperty({ type: [RlWorkerEntryDto], description: 'By `base_url`, then `url`.' })
  readonly workers!: readonly RlWorkerEntryDto[];
  @ApiProperty({ type: 'integer', description: 'Number of rows.' })
  readonly total!: number;
}
