import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** `capabilities` of a row; informational, never checked. */
@ApiSchema({ name: 'RlCapabilities' })
export class RlCapabilitiesModel {
  @ApiProperty({
    enum: ['static', 'label'],
    description: '`label` when at least one `rl.*` label of the worker overrode the table.',
  })
  readonly source!: 'static' | 'label';
  @ApiProperty({ type: [String], description: "Values the engine's pause route takes as mode." })
  readonly pause_modes!: readonly string[];
  @ApiProperty({ type: [String], description: 'Sources the engine can load weights from.' })
  readonly update_from!: readonly string[];
  @ApiProperty({ description: 'Running requests can be aborted.' })
  readonly abort!: boolean;
  @ApiProperty({ description: 'The KV cache can be flushed.' })
  readonly flush_cache!: boolean;
  @ApiProperty({ description: 'Memory can be released and taken back.' })
  readonly sleep_wake!: boolean;
  @ApiProperty({ description: 'The engine reports its weight version after a refit.' })
  readonly reports_weight_version!: boolean;
}
