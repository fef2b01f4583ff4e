import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  UseFilters,
} from '@nestjs/common';
import { DataPlane, DescribedBy } from '@smg/plugin-api';
import { type ConversationObject, Conversations, type Deleted } from './core/conversations';
import type * as Description from './docs/conversations.description';
import { EntryOwner } from './entry-owner';
import { HistoryErrorFilter } from './history-error.filter';
import { type HistoryRequest, JSON_TYPE } from './history.http';

/** `/v1/conversations`. Law: SMG contract 2.7. */
@DescribedBy(
  () =>
    (require('./docs/conversations.description') as typeof Description).CONVERSATIONS_DESCRIPTION,
)
@DataPlane()
@UseFilters(new HistoryErrorFilter())
@Controller('v1/conversations')
export class ConversationsController {
  constructor(
    private readonly conversations: Conversations,
    private readonly owner: EntryOwner,
  ) {}

  @Post()
  @HttpCode(200)
  create(@Req() request: HistoryRequest, @Body() body: unknown): Promise<ConversationObject> {
    return this.conversations.create(this.owner.of(request), body);
  }

  @Get(':id')
  get(@Param('id') id: string, @Req() request: HistoryRequest): Promise<ConversationObject> {
    return this.conversations.get(this.owner.of(request), id);
  }

  @Post(':id')
  @HttpCode(200)
  update(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
    @Body() body: unknown,
  ): Promise<ConversationObject> {
    return this.conversations.update(this.owner.of(request), id, body);
  }

  @Delete(':id')
  delete(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
  ): Promise<Deleted<'conversation.deleted'>> {
    return this.conversations.delete(this.owner.of(request), id);
  }

  @Get(':id/items')
  @Header('content-type', JSON_TYPE)
  list(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
    @Query() query: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    return this.conversations.list(this.owner.of(request), id, query);
  }

  @Post(':id/items')
  @HttpCode(200)
  @Header('content-type', JSON_TYPE)
  addItems(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
    @Body() body: unknown,
  ): Promise<string> {
    return this.conversations.addItems(this.owner.of(request), id, body);
  }

  @Get(':id/items/:item_id')
  @Header('content-type', JSON_TYPE)
  item(
    @Param('id') id: string,
    @Param('item_id') itemId: string,
    @Req() request: HistoryRequest,
  ): Promise<string> {
    return this.conversations.item(this.owner.of(request), id, itemId);
  }

  @Delete(':id/items/:item_id')
  removeItem(
    @Param('id') id: string,
    @Param('item_id') itemId: string,
    @Req() request: HistoryRequest,
  ): Promise<ConversationObject> {
    return this.conversations.removeItem(this.owner.of(request), id, itemId);
  }
}
