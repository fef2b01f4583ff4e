import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CONTROL_STATES } from '../core/engine-state';

@ApiSchema({ name: 'RlSetVersionRequest' })
export class RlSetVersionModel {
  @ApiProperty({
    type: 'string',
    example: '42',
    maxLength: 128,
    pattern: String.raw`^\s*[!-~]+\s*$`,
    description: 'Printable ASCII without spaces, at most 128 bytes; a string, also for a number.',
  })
  readonly weight_version!: string;
}

@ApiSchema({ name: 'RlSetControlRequest' })
export class RlSetControlModel {
  @ApiProperty({ type: 'string', enum: [...CONTROL_STATES] })
  readonly control!: string;
}

export const VERSION_EXAMPLES = {
  version: { summary: 'Version 42', value: { weight_version: '42' } },
};

export const CONTROL_EXAMPLES = {
  active: { summary: 'Gets requests', value: { control: 'active' } },
  paused: { summary: 'Gets none', value: { control: 'paused' } },
  asleep: { summary: 'Gets none; its memory is released', value: { control: 'asleep' } },
};
