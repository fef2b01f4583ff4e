import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { DataPlane, DescribedBy } from '@smg/plugin-api';
import { ROUTED_WORKER_ID } from '@smg/protocol';
import type * as Description from './docs/responses.description';
import { EntryOwner } from './entry-owner';
import { type HistoryReply, type HistoryRequest, JSON_TYPE } from './history.http';
import { ResponseCanceller } from './response.canceller';

/** Cancels a response at the engines; there whether or not answers are kept. */
@DescribedBy(
  () => (require('./docs/responses.description') as typeof Description).CANCEL_DESCRIPTION,
)
@DataPlane()
@Controller('v1/responses')
export class ResponseCancelController {
  constructor(
    private readonly canceller: ResponseCanceller,
    private readonly owner: EntryOwner,
  ) {}

  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(
    @Param('id') id: string,
    @Req() request: HistoryRequest,
    @Res() reply: HistoryReply,
  ): Promise<void> {
    const left = new AbortController();
    const onClose = (): void => {
      left.abort();
    };
    reply.raw.once('close', onClose);
    try {
      const isTheirs = this.owner.passesAuthorization(request);
      const authorization = isTheirs ? request.headers.authorization : undefined;
      const { worker, answer } = await this.canceller.cancel({
        id,
        authorization,
        signal: left.signal,
      });
      reply
        .code(answer.status)
        .header(ROUTED_WORKER_ID, worker.url)
        .header('content-type', contentTypeOf(answer.headers))
        .send(answer.body);
    } finally {
      reply.raw.off('close', onClose);
    }
  }
}

function contentTypeOf(headers: readonly string[]): string {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'content-type') return headers[at + 1] ?? JSON_TYPE;
  }
  return JSON_TYPE;
}
