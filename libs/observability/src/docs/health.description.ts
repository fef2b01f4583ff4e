import { ApiOperation, ApiProperty, ApiResponse, ApiSchema, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

@ApiSchema({ name: 'Ready' })
export class ReadyModel {
  @ApiProperty({ type: 'string', enum: ['ready'] })
  readonly status!: string;
  @ApiProperty({ type: 'integer', example: 2 })
  readonly healthy_workers!: number;
  @ApiProperty({ type: 'integer', example: 2 })
  readonly total_workers!: number;
}

@ApiSchema({ name: 'NotReady' })
export class NotReadyModel {
  @ApiProperty({ type: 'string', enum: ['not ready'] })
  readonly status!: string;
  @ApiProperty({ type: 'string', example: 'insufficient healthy workers' })
  readonly reason!: string;
}

const ALIVE = ApiResponse({
  status: 200,
  description: 'Also while it drains and without workers.',
  content: { 'text/plain': { schema: { type: 'string' }, example: 'OK' } },
});

export const HEALTH_DESCRIPTION: RouteDescriptions<'liveness' | 'check' | 'readiness'> = {
  controller: [ApiTags('Probes')],
  methods: {
    liveness: [ApiOperation({ summary: 'The process runs' }), ALIVE],
    check: [ApiOperation({ summary: 'The process runs', description: 'As `/liveness`.' }), ALIVE],
    readiness: [
      ApiOperation({ summary: 'The gateway can serve' }),
      ApiResponse({ status: 200, type: ReadyModel, description: 'A worker is ready.' }),
      ApiResponse({
        status: 503,
        type: NotReadyModel,
        description: 'None is, or the gateway is leaving.',
      }),
    ],
  },
};
