import { Controller, Get, HttpCode, Param, Post, Req, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/rl-workers.description';
import { type RlWorkerRow, type RlWorkersAnswer } from './core/discovery-row';
import { EngineRows } from './engine.rows';
import { EngineSelection } from './engine.selection';
import { EngineWrites } from './engine.writes';
import { RlErrorFilter } from './rl-error.filter';
import { type RlRequest } from './rl.http';

/** `/v1/rl/workers`: what the engines are and hold. Law: SMG RL contract 2.1 and 2.4. */
@DescribedBy(
  () => (require('./docs/rl-workers.description') as typeof Description).RL_WORKERS_DESCRIPTION,
)
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
  list(): RlWorkersAnswer {
    return this.rows.list(this.selection.all());
  }

  @Get(':id')
  find(@Param('id') id: string): RlWorkerRow {
    return this.rows.one(this.selection.byId(id));
  }

  @Post(':id/version')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  setVersion(@Param('id') id: string, @Req() request: RlRequest): RlWorkerRow {
    const version = this.writes.readVersion(request);
    const worker = this.selection.byId(id);
    this.writes.setVersion(worker, version);
    return this.rows.one(worker);
  }

  @Post(':id/state')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
  setState(@Param('id') id: string, @Req() request: RlRequest): RlWorkerRow {
    const control = this.writes.readControl(request);
    const worker = this.selection.byId(id);
    this.writes.setControl(worker, control);
    return this.rows.one(worker);
  }
}
