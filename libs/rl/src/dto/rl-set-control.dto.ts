import { IsIn } from 'class-validator';

const CONTROL_STATES = ['active', 'paused', 'asleep'] as const;

/** Body of R6 and R8. */
export class RlSetControlDto {
  @IsIn(CONTROL_STATES)
  readonly control!: (typeof CONTROL_STATES)[number];
}
