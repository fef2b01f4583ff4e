import { Controller, Get, Param, Post, Req, Res, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/rl-engine.description';
import { watchCaller } from './caller.presence';
import { ControlCaller, type EngineRequest } from './control.caller';
import { parseRawEnginePath } from './core/engine-path';
import { renderFanout, type CallResult } from './core/fanout';
import { forwardQuery } from './core/forward-query';
import { renderOutcome } from './core/outcome';
import { RlError, rlErrors } from './core/rl-error';
import { EngineFanout } from './engine.fanout';
import { EngineSelection } from './engine.selection';
import { forwardedHeaders } from './forwarded-headers';
import { RlErrorFilter } from './rl-error.filter';
import {
  bytesOf,
  payloadOf,
  queryOf,
  rawEnginePathOf,
  type RlReply,
  type RlRequest,
} from './rl.http';

/** Calls engines in their own words: one by id, or all that match. Law: SMG RL contract 2.2 and 2.3. */
@DescribedBy(
  () => (require('./docs/rl-engine.description') as typeof Description).RL_ENGINE_DESCRIPTION,
)
@ControlPlane()
@UseFilters(new RlErrorFilter())
@Controller('v1/rl')
export class RlEngineController {
  constructor(
    private readonly selection: EngineSelection,
    private readonly caller: ControlCaller,
    private readonly fanout: EngineFanout,
  ) {}

  /** A HEAD arrives here too and reaches the engine as HEAD. */
  @Get('workers/:id/engine/*')
  @RouteConfig({ keepsBytes: true })
  get(@Param('id') id: string, @Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callOne(id, request, reply);
  }

  @Post('workers/:id/engine/*')
  @RouteConfig({ keepsBytes: true })
  post(@Param('id') id: string, @Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callOne(id, request, reply);
  }

  @Get('engine/*')
  @RouteConfig({ keepsBytes: true })
  getAll(@Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callAll(request, reply);
  }

  @Post('engine/*')
  @RouteConfig({ keepsBytes: true })
  postAll(@Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callAll(request, reply);
  }

  private async callOne(id: string, request: RlRequest, reply: RlReply): Promise<void> {
    const order = orderOf(request);
    const worker = this.selection.byId(id);
    await whileWaiting(reply, async (left) => {
      const result = await this.caller.call(worker, order, left);
      if (result.kind === 'failed') throw errorOf(worker, result);
      return { status: result.outcome.status, body: renderOutcome(result.outcome) };
    });
  }

  private async callAll(request: RlRequest, reply: RlReply): Promise<void> {
    const selector = this.selection.read(queryOf(request));
    const order = orderOf(request);
    await whileWaiting(reply, async (left) => {
      const report = await this.fanout.run(selector, order, left);
      return { status: report.status, body: payloadOf(renderFanout(report)) };
    });
  }
}

/** Answers with what `work` gives; calls it off, and answers nothing, when the caller leaves. */
async function whileWaiting(
  reply: RlReply,
  work: (left: AbortSignal) => Promise<{ readonly status: number; readonly body: unknown }>,
): Promise<void> {
  const caller = watchCaller(reply);
  try {
    const { status, body } = await work(caller.left);
    reply.code(status).header('content-type', 'application/json').send(body);
  } catch (error) {
    if (!caller.left.aborted) throw error;
  } finally {
    caller.release();
  }
}

/** @throws RlError `invalid_engine_path` */
function orderOf(request: RlRequest): EngineRequest {
  const parsed = parseRawEnginePath(rawEnginePathOf(request));
  if (!parsed.ok) throw rlErrors.invalidEnginePath(parsed.why);
  return {
    method: request.method,
    path: parsed.path,
    query: forwardQuery(queryOf(request)),
    headers: forwardedHeaders(request),
    body: bytesOf(request),
  };
}

function errorOf(
  worker: { readonly id: string; readonly url: string },
  failure: Exclude<CallResult, { kind: 'answered' }>,
): RlError {
  return failure.error === 'unsupported_connection_mode'
    ? rlErrors.unsupportedConnectionMode(worker, failure.connectionMode)
    : new RlError(failure.error, failure.message, { worker_id: worker.id, url: worker.url });
}
