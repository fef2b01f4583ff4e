import { Controller, Delete, Get, Header, Param, Req, UseFilters } from '@nestjs/common';
import { DataPlane, DescribedBy } from '@smg/plugin-api';
import { GatewayError } from '@smg/protocol';
import { type Deleted } from './core/conversations';
import { Responses } from './core/responses';
import type * as Description from './docs/responses.description';
import { EntryOwner } from './entry-owner';
import { HistoryErrorFilter } from './history-error.filter';
import { type HistoryRequest, JSON_TYPE } from './history.http';

/** Answers that were kept. Law: SMG contract 2.7. */
@DescribedBy(
  () => (require('./docs/responses.description') as typeof Description).RESPONSES_DESCRIPTION,
)
@DataPlane()
@UseFilters(new HistoryErrorFilter())
@Controller('v1/responses')
export class ResponsesController {
  constructor(
    private readonly responses: Responses,
    private readonly owner: EntryOwner,
  ) {}

  @Get(':id')
  @Header('content-type', JSON_TYPE)
  async get(@Param('id') id: string, @Req() request: HistoryRequest): Promise<string> {
    return found(await this.responses.get(this.owner.of(request), id), id);
  }

  @Delete(':id')
  async delete(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
  ): Promise<Deleted<'response.deleted'>> {
    return found(await this.responses.delete(this.owner.of(request), id), id);
  }

  @Get(':id/input_items')
  @Header('content-type', JSON_TYPE)
  async inputItems(@Param('id') id: string, @Req() request: HistoryRequest): Promise<string> {
    return found(await this.responses.inputItems(this.owner.of(request), id), id);
  }
}

function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new GatewayError('not_found', `There is no response ${JSON.stringify(id.slice(0, 256))}`);
}
