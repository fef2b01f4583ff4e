import { ApiProperty, ApiSchema, type ApiResponseOptions } from '@nestjs/swagger';
import { ERROR_CODES, renderErrorEnvelope, type ErrorCode } from '@smg/protocol';

const METADATA = {
  type: 'object',
  additionalProperties: true,
  selfRequired: false,
  description:
    'At most 16 keys of 64 characters; values are strings of 512 characters, numbers or booleans.',
  example: { topic: 'demo' },
} as const;

@ApiSchema({ name: 'Conversation' })
export class ConversationModel {
  @ApiProperty({ type: 'string', example: 'conv_0123456789abcdef' })
  readonly id!: string;
  @ApiProperty({ type: 'string', enum: ['conversation'] })
  readonly object!: string;
  @ApiProperty({ type: 'integer', description: 'Unix time in seconds.', example: 1767225600 })
  readonly created_at!: number;
  @ApiProperty(METADATA)
  readonly metadata?: object;
}

@ApiSchema({ name: 'Deletion' })
export class DeletionModel {
  @ApiProperty({ type: 'string' })
  readonly id!: string;
  @ApiProperty({ type: 'string', enum: ['conversation.deleted', 'response.deleted'] })
  readonly object!: string;
  @ApiProperty({ type: 'boolean', enum: [true] })
  readonly deleted!: boolean;
}

@ApiSchema({ name: 'ItemList' })
export class ItemListModel {
  @ApiProperty({ type: 'string', enum: ['list'] })
  readonly object!: string;
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'Items as they were given, each with an id.',
  })
  readonly data!: readonly object[];
  @ApiProperty({ type: 'string', nullable: true })
  readonly first_id!: string | null;
  @ApiProperty({ type: 'string', nullable: true, description: '`after` of the next page.' })
  readonly last_id!: string | null;
  @ApiProperty({ type: 'boolean', description: 'The page is full: there may be more.' })
  readonly has_more!: boolean;
}

const ITEMS = {
  type: 'array',
  maxItems: 20,
  items: { type: 'object', additionalProperties: true },
  example: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
} as const;

@ApiSchema({ name: 'ConversationCreate' })
export class ConversationCreateDto {
  @ApiProperty(METADATA)
  readonly metadata?: object;
  @ApiProperty({ ...ITEMS, required: false, description: 'Its first items.' })
  readonly items?: readonly object[];
}

@ApiSchema({ name: 'ConversationUpdate' })
export class ConversationUpdateDto {
  @ApiProperty({ ...METADATA, description: 'Merged into what is there; `null` takes a key away.' })
  readonly metadata?: object;
}

@ApiSchema({ name: 'ItemsAdd' })
export class ItemsAddDto {
  @ApiProperty({
    ...ITEMS,
    description: 'New items, or stored ones: `{"type": "item_reference", "id": "…"}`.',
  })
  readonly items!: readonly object[];
}

/** An answer in the gateway's error envelope. */
export function envelope(...codes: readonly ErrorCode[]): ApiResponseOptions[] {
  return codes.map((code) => {
    const { status, meaning } = ERROR_CODES[code];
    const example: unknown = JSON.parse(renderErrorEnvelope(status, code, meaning));
    return {
      status,
      description: `\`${code}\`: ${meaning}`,
      content: {
        'application/json': { schema: { type: 'object', additionalProperties: true }, example },
      },
    };
  });
}
