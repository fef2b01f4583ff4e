import { Controller, Get, HttpCode, Param, Post, Req, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ControlPlane } from '@smg/plugin-api';
import { type RlWorkerRow, type RlWorkersAnswer } from './core/discovery-row';
import { RlErrors, RlRoutes, RlTooLarge } from './dto/rl-responses';
import { RlSetControlDto } from './dto/rl-set-control.dto';
import { RlSetVersionDto } from './dto/rl-set-version.dto';
import { RlWorkerEntryDto } from './dto/rl-worker-entry.dto';
import { RlWorkersResponseDto } from './dto/rl-workers-response.dto';
import { EngineRows } from './engine.rows';
import { EngineSelection } from './engine.selection';
import { EngineWrites } from './engine.writes';
import { RlErrorFilter } from './rl-error.filter';
import { type RlRequest } from './rl.http';

const Id = (): MethodDecorator =>
  ApiParam({ name: 'id', description: 'Worker id; any rank of a data-parallel engine.' });

/** `/v1/rl/workers`: what the engines are and hold. Law: SMG RL contract 2.1 and 2.4. */
@RlRoutes()
@ControlPlane()
@UseFilters(new RlErrorFilter())
@Controller('v1/rl/workers')
export class RlWorkersController {
  constructor(
    private readonly selection: EngineSelection,
    private readonly rows: EngineRows,
    private readonly writes: EngineWrites,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the engines' })
  @ApiOkResponse({ type: RlWorkersResponseDto })
  @RlErrors()
  list(): RlWorkersAnswer {
    return this.rows.list(this.selection.all());
  }

  @Get(':id')
  @ApiOperation({ summary: 'One engine' })
  @Id()
  @ApiOkResponse({ type: RlWorkerEntryDto })
  @RlErrors('worker_not_found')
  find(@Param('id') id: string): RlWorkerRow {
    return this.rows.one(this.selection.byId(id));
  }

  @Post(':id/version')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  @ApiOperation({ summary: 'Record the weight version an engine holds; the engine is not called' })
  @Id()
  @ApiBody({ type: RlSetVersionDto })
  @ApiOkResponse({ type: RlWorkerEntryDto })
  @RlErrors('invalid_body', 'invalid_version', 'worker_not_found')
  @RlTooLarge()
  setVersion(@Param('id') id: string, @Req() request: RlRequest): RlWorkerRow {
    const version = this.writes.readVersion(request);
    const worker = this.selection.byId(id);
    this.writes.setVersion(worker, version);
    return this.rows.one(worker);
  }

  @Post(':id/state')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  @ApiOperation({ summary: 'Record the control state of an engine; the engine is not called' })
  @Id()
  @ApiBody({ type: RlSetControlDto })
  @ApiOkResponse({ type: RlWorkerEntryDto })
  @RlErrors('invalid_body', 'worker_not_found')
  @RlTooLarge()
  setState(@Param('id') id: string, @Req() request: RlRequest): RlWorkerRow {
    const control = this.writes.readControl(request);
    const worker = this.selection.byId(id);
    this.writes.setControl(worker, control);
    return this.rows.one(worker);
  }
}
