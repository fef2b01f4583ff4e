import {
  applyDecorators,
  Controller,
  Get,
  Param,
  Post,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiBody,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
} from '@nestjs/swagger';
import { ControlPlane } from '@smg/plugin-api';
import { watchCaller } from './caller.presence';
import { ControlCaller, type EngineRequest } from './control.caller';
import { parseRawEnginePath } from './core/engine-path';
import { renderFanout, type CallResult } from './core/fanout';
import { forwardQuery } from './core/forward-query';
import { renderOutcome } from './core/outcome';
import { RlError, rlErrors } from './core/rl-error';
import { RlCallOutcomeDto } from './dto/rl-call-outcome.dto';
import { RlFanoutResponseDto } from './dto/rl-fanout-response.dto';
import { RlErrors, RlRoutes, RlTooLarge } from './dto/rl-responses';
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

/** What every route that reaches engines has in common. */
const EnginePath = (summary: string): MethodDecorator =>
  applyDecorators(
    RouteConfig({ keepsBytes: true }),
    ApiOperation({ summary }),
    ApiParam({
      name: '*',
      description: 'Path on the engine: 1 to 4 segments of letters, digits, `.`, `_` and `-`.',
    }),
    RlTooLarge(),
  );

const Body = (): MethodDecorator =>
  ApiBody({ required: false, description: 'Sent to the engine byte for byte.', type: Object });

const OneEngine = (summary: string): MethodDecorator =>
  applyDecorators(
    EnginePath(summary),
    ApiParam({ name: 'id', description: 'Worker id; any rank of a data-parallel engine.' }),
    ApiOkResponse({ type: RlCallOutcomeDto }),
    ApiResponse({
      status: 'default',
      type: RlCallOutcomeDto,
      description: "The engine's own status, whatever it is, with the same envelope.",
    }),
    RlErrors(
      'invalid_engine_path',
      'worker_not_found',
      'unsupported_connection_mode',
      'upstream_unreachable',
      'upstream_timeout',
    ),
  );

const ManyEngines = (summary: string): MethodDecorator =>
  applyDecorators(
    EnginePath(summary),
    ApiQuery({ name: 'selector', required: true, example: 'engine=sglang, role!=reward' }),
    ApiOkResponse({ type: RlFanoutResponseDto, description: 'Every target answered 2xx.' }),
    ApiResponse({
      status: 207,
      type: RlFanoutResponseDto,
      description: 'At least one target did not; `failed` names it.',
    }),
    RlErrors('selector_required', 'invalid_selector', 'invalid_engine_path', 'no_workers_match'),
  );

/** Calls engines in their own words: one by id, or all that match. Law: SMG RL contract 2.2 and 2.3. */
@RlRoutes()
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
  @OneEngine('Call one engine with GET')
  get(@Param('id') id: string, @Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callOne(id, request, reply);
  }

  @Post('workers/:id/engine/*')
  @OneEngine('Call one engine with POST')
  @Body()
  post(@Param('id') id: string, @Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callOne(id, request, reply);
  }

  @Get('engine/*')
  @ManyEngines('Call every engine that matches with GET')
  getAll(@Req() request: RlRequest, @Res() reply: RlReply): Promise<void> {
    return this.callAll(request, reply);
  }

  @Post('engine/*')
  @ManyEngines('Call every engine that matches with POST')
  @Body()
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
