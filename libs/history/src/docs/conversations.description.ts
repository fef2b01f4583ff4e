import {
  ApiBody,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiTags,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import { type RouteDescriptions } from '@smg/plugin-api';
import {
  ConversationCreateDto,
  ConversationModel,
  ConversationUpdateDto,
  DeletionModel,
  envelope,
  ItemListModel,
  ItemsAddDto,
} from './history.models';

type Route = 'create' | 'get' | 'update' | 'delete' | 'list' | 'addItems' | 'item' | 'removeItem';

const ID = ApiParam({
  name: 'id',
  schema: { type: 'string', example: 'conv_0123456789abcdef' },
  description: 'Id of the conversation.',
});
const ITEM_ID = ApiParam({
  name: 'item_id',
  schema: { type: 'string', example: 'msg_01234567' },
  description: 'Id of the item.',
});

const METADATA = { topic: 'demo' };
const ITEMS = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }];

const refusal = (status: number, description: string, error: unknown): ApiResponseOptions => ({
  status,
  description,
  content: {
    'application/json': {
      schema: { type: 'object', additionalProperties: true },
      example: { error },
    },
  },
});

const BAD = ApiResponse(
  refusal(400, 'The body or a parameter is not acceptable.', 'limit must be a whole number'),
);
const BAD_ITEMS = ApiResponse(
  refusal(
    400,
    'More than 20 items, an unsupported type, or one that is there already (`item_already_in_conversation`).',
    'Cannot add more than 20 items at once, got 25',
  ),
);
const MISSING = ApiResponse(
  refusal(404, 'There is no such conversation or item.', 'There is no conversation "conv_1"'),
);
const FAILED = envelope('storage_error').map((options) => ApiResponse(options));
const CONVERSATION = ApiResponse({
  status: 200,
  type: ConversationModel,
  description: 'The conversation.',
});

export const CONVERSATIONS_DESCRIPTION: RouteDescriptions<Route> = {
  controller: [ApiTags('Responses and conversations')],
  methods: {
    create: [
      ApiOperation({ summary: 'Begin a conversation' }),
      ApiBody({
        type: ConversationCreateDto,
        required: false,
        examples: { plain: { value: {} }, full: { value: { metadata: METADATA, items: ITEMS } } },
      }),
      CONVERSATION,
      BAD,
      ...FAILED,
    ],
    get: [ApiOperation({ summary: 'A conversation' }), ID, CONVERSATION, MISSING, ...FAILED],
    update: [
      ApiOperation({ summary: 'Merge metadata into a conversation' }),
      ID,
      ApiBody({
        type: ConversationUpdateDto,
        examples: { merge: { value: { metadata: { topic: 'another', old: null } } } },
      }),
      CONVERSATION,
      BAD,
      MISSING,
      ...FAILED,
    ],
    delete: [
      ApiOperation({
        summary: 'Delete a conversation',
        description: 'Its items go with it, unless another conversation has them.',
      }),
      ID,
      ApiResponse({ status: 200, type: DeletionModel, description: 'It is gone.' }),
      MISSING,
      ...FAILED,
    ],
    list: [
      ApiOperation({ summary: 'Items of a conversation' }),
      ID,
      ApiQuery({
        name: 'limit',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
        description: 'Items of a page.',
      }),
      ApiQuery({
        name: 'order',
        required: false,
        schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
        description: 'Oldest or latest first.',
      }),
      ApiQuery({
        name: 'after',
        required: false,
        schema: { type: 'string' },
        description: 'Id of the last item of the page before.',
      }),
      ApiResponse({ status: 200, type: ItemListModel, description: 'A page of items.' }),
      BAD,
      MISSING,
      ...FAILED,
    ],
    addItems: [
      ApiOperation({
        summary: 'Add items to a conversation',
        description: 'All of them, or none.',
      }),
      ID,
      ApiBody({ type: ItemsAddDto, examples: { message: { value: { items: ITEMS } } } }),
      ApiResponse({ status: 200, type: ItemListModel, description: 'What was added.' }),
      BAD_ITEMS,
      MISSING,
      ...FAILED,
    ],
    item: [
      ApiOperation({ summary: 'An item of a conversation' }),
      ID,
      ITEM_ID,
      ApiResponse({
        status: 200,
        description: 'The item.',
        schema: { type: 'object', additionalProperties: true },
      }),
      MISSING,
      ...FAILED,
    ],
    removeItem: [
      ApiOperation({ summary: 'Take an item out of a conversation' }),
      ID,
      ITEM_ID,
      CONVERSATION,
      MISSING,
      ...FAILED,
    ],
  },
};
