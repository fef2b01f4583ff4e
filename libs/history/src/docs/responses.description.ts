import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import { type ErrorCode } from '@smg/protocol';
import { DeletionModel, envelope, ItemListModel } from './history.models';

const TAG = ApiTags('Responses and conversations');
const ID = ApiParam({
  name: 'id',
  schema: { type: 'string', example: 'resp_0123456789abcdef' },
  description: 'Id of the response, as the engine gave it.',
});
const RESPONSE = { type: 'object' as const, additionalProperties: true };

const refusals = (...codes: readonly ErrorCode[]): MethodDecorator[] =>
  envelope(...codes).map((options) => ApiResponse(options));

export const RESPONSES_DESCRIPTION: RouteDescriptions<'get' | 'delete' | 'inputItems'> = {
  controller: [TAG],
  methods: {
    get: [
      ApiOperation({
        summary: 'A stored response',
        description: 'As the engine wrote it. `--history-backend` says where it is kept.',
      }),
      ID,
      ApiResponse({ status: 200, description: 'The response.', schema: RESPONSE }),
      ...refusals('not_found', 'storage_error'),
    ],
    delete: [
      ApiOperation({ summary: 'Delete a stored response' }),
      ID,
      ApiResponse({ status: 200, type: DeletionModel, description: 'It is gone.' }),
      ...refusals('not_found', 'storage_error'),
    ],
    inputItems: [
      ApiOperation({ summary: 'What a stored response was asked with' }),
      ID,
      ApiResponse({ status: 200, type: ItemListModel, description: 'Every item, in order.' }),
      ...refusals('not_found', 'storage_error'),
    ],
  },
};

export const CANCEL_DESCRIPTION: RouteDescriptions<'cancel'> = {
  controller: [TAG],
  methods: {
    cancel: [
      ApiOperation({
        summary: 'Cancel a response',
        description:
          'Every engine is asked. The answer is that of the first which agrees, else the last one.',
      }),
      ID,
      ApiResponse({ status: 200, description: "The engine's answer.", schema: RESPONSE }),
      ApiResponse({ status: 404, description: 'No engine works on it.', schema: RESPONSE }),
      ...refusals('no_workers', 'no_worker_response'),
    ],
  },
};
