import { IsString } from 'class-validator';

/** Body of R5 and R7. */
export class RlSetVersionDto {
  @IsString()
  readonly weight_version!: string;
}
