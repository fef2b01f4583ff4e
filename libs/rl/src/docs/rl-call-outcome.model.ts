import { ApiProperty, ApiSchema } from '@nestjs/swagger';

const JSON_VALUES = [
  { type: 'object', additionalProperties: true },
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
];

/** What one engine answered; the HTTP status of R3 is the engine's. */
@ApiSchema({ name: 'RlCallOutcome' })
export class RlCallOutcomeModel {
  @ApiProperty({ description: 'Worker that was called.' })
  readonly worker_id!: string;
  @ApiProperty({ description: 'Its registered URL.' })
  readonly url!: string;
  @ApiProperty({ type: 'integer', description: "The engine's status." })
  readonly status!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Milliseconds from the call to the end of the body.',
  })
  readonly latency_ms!: number;
  @ApiProperty({
    description: "The engine's body: JSON when it is JSON, otherwise text.",
    oneOf: [...JSON_VALUES, { type: 'array', items: { oneOf: JSON_VALUES } }],
    nullable: true,
  })
  readonly body!: unknown;
  @ApiProperty({
    required: false,
    enum: [true],
    description: 'Only when the body was longer than 1 MiB: `body` is then its first MiB, as text.',
  })
  readonly body_truncated?: true;
}
