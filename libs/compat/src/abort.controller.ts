import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { GatewayError } from '@smg/protocol';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/abort.description';
import { AbortCaller, type AbortReport } from './abort.caller';
import { readAbortOrder, type AbortOrder } from './core/abort-order';
import { bytesOf, whileWaited, type RawReply, type RawRequest } from './raw-http';

/**
 * `/abort_request`, SGLang's, at the router. It ends what others have asked for, so it is an operator's
 * call, as it is at an engine.
 */
@DescribedBy(() => (require('./docs/abort.description') as typeof Description).ABORT_DESCRIPTION)
@ControlPlane()
@Controller()
export class AbortRequestController {
  constructor(private readonly caller: AbortCaller) {}

  @Post('abort_request')
  @RouteConfig({ keepsBytes: true })
  async abort(@Req() request: RawRequest, @Res() reply: RawReply): Promise<void> {
    const body = bytesOf(request);
    const order = readAbortOrder(body);
    if (typeof order === 'string') throw new GatewayError('invalid_request', order);
    await whileWaited(reply, async (left) => {
      const report = await this.caller.abort(order, body, left);
      const isDone = wasDone(order, report);
      reply
        .code(isDone ? 200 : 502)
        .header('content-type', 'application/json')
        .send(JSON.stringify({ success: isDone, ...report }));
    });
  }
}

/**
 * Everything must have been told to every engine; one request is stopped when the engine that has it
 * was told, and where nobody knows which that is, a dead engine has it no more.
 */
function wasDone(order: AbortOrder, { located, asked, failed }: AbortReport): boolean {
  if (failed.length === 0) return true;
  return order.kind === 'some' && !located && asked.length > 0;
}
