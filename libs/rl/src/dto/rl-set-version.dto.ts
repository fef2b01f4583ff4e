import { ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';

/** Body of R5 and R7. */
export class RlSetVersionDto {
  @ApiProperty({
    example: '42',
    maxLength: 128,
    pattern: String.raw`^\s*[!-~]+\s*$`,
    description: 'Printable ASCII without spaces, at most 128 bytes; a string, also for a number.',
  })
  @IsString()
  readonly weight_version!: string;
}
