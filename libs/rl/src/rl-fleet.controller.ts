import { Controller, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOkResponse, ApiOperation, ApiQuery } from '@nestjs/swagger';
import { ControlPlane, type WorkerView } from '@smg/plugin-api';
import { type RlWorkersAnswer } from './core/discovery-row';
import { RlErrors, RlRoutes, RlTooLarge } from './dto/rl-responses';
import { RlSetControlDto } from './dto/rl-set-control.dto';
import { RlSetVersionDto } from './dto/rl-set-version.dto';
import { RlWorkersResponseDto } from './dto/rl-workers-response.dto';
import { EngineRows } from './engine.rows';
import { EngineSelection } from './engine.selection';
import { EngineWrites } from './engine.writes';
import { RlErrorFilter } from './rl-error.filter';
import { queryOf, type RlRequest } from './rl.http';

const Selector = (): MethodDecorator =>
  ApiQuery({ name: 'selector', required: true, example: 'engine=sglang, role!=reward' });

/** `/v1/rl/version` and `/v1/rl/state`: a write for every engine that matches. Law: SMG RL contract 2.4. */
@RlRoutes()
@ControlPlane()
@UseFilters(new RlErrorFilter())
@Controller('v1/rl')
export class RlFleetController {
  constructor(
    private readonly selection: EngineSelection,
    private readonly rows: EngineRows,
    private readonly writes: EngineWrites,
  ) {}

  @Post('version')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  @ApiOperation({ summary: 'Record the weight version of every engine that matches' })
  @Selector()
  @ApiBody({ type: RlSetVersionDto })
  @ApiOkResponse({ type: RlWorkersResponseDto })
  @RlErrors(
    'invalid_body',
    'invalid_version',
    'selector_required',
    'invalid_selector',
    'no_workers_match',
  )
  @RlTooLarge()
  setVersion(@Req() request: RlRequest): RlWorkersAnswer {
    const version = this.writes.readVersion(request);
    return this.forEach(request, (worker) => {
      this.writes.setVersion(worker, version);
    });
  }

  @Post('state')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  @ApiOperation({ summary: 'Record the control state of every engine that matches' })
  @Selector()
  @ApiBody({ type: RlSetControlDto })
  @ApiOkResponse({ type: RlWorkersResponseDto })
  @RlErrors('invalid_body', 'selector_required', 'invalid_selector', 'no_workers_match')
  @RlTooLarge()
  setState(@Req() request: RlRequest): RlWorkersAnswer {
    const control = this.writes.readControl(request);
    return this.forEach(request, (worker) => {
      this.writes.setControl(worker, control);
    });
  }

  private forEach(request: RlRequest, write: (worker: WorkerView) => void): RlWorkersAnswer {
    const groups = this.selection.matching(this.selection.read(queryOf(request)));
    for (const { worker } of groups) write(worker);
    return this.rows.list(groups);
  }
}
