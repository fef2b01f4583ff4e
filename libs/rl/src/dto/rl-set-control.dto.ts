import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';

const CONTROL_STATES = ['active', 'paused', 'asleep'] as const;

/** Body of R6 and R8. */
export class RlSetControlDto {
  @ApiProperty({ enum: CONTROL_STATES })
  @IsIn(CONTROL_STATES)
  readonly control!: (typeof CONTROL_STATES)[number];
}
