import { ApiOperation, ApiProperty, ApiResponse, ApiSchema, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';

@ApiSchema({ name: 'Model' })
export class ModelModel {
  @ApiProperty({ type: 'string', example: 'mock-model' })
  readonly id!: string;
  @ApiProperty({ type: 'string', enum: ['model'] })
  readonly object!: string;
  @ApiProperty({ type: 'integer', description: 'Always 0.' })
  readonly created!: number;
  @ApiProperty({ type: 'string', example: 'self_hosted' })
  readonly owned_by!: string;
}

@ApiSchema({ name: 'ModelList' })
export class ModelListModel {
  @ApiProperty({ type: 'string', enum: ['list'] })
  readonly object!: string;
  @ApiProperty({ type: () => [ModelModel] })
  readonly data!: readonly ModelModel[];
}

export const MODELS_DESCRIPTION: RouteDescriptions<'list'> = {
  controller: [ApiTags('Information')],
  methods: {
    list: [
      ApiOperation({ summary: 'Models of the registered workers' }),
      ApiResponse({ status: 200, type: ModelListModel, description: 'The models.' }),
      ApiResponse({
        status: 503,
        description: 'No worker is registered.',
        content: { 'text/plain': { schema: { type: 'string' }, example: 'No models available' } },
      }),
    ],
  },
};
