import { Controller, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ControlPlane, DescribedBy, type WorkerView } from '@smg/plugin-api';
import type * as Description from './docs/rl-fleet.description';
import { type RlWorkersAnswer } from './core/discovery-row';
import { EngineRows } from './engine.rows';
import { EngineSelection } from './engine.selection';
import { EngineWrites } from './engine.writes';
import { RlErrorFilter } from './rl-error.filter';
import { queryOf, type RlRequest } from './rl.http';

/** `/v1/rl/version` and `/v1/rl/state`: a write for every engine that matches. Law: SMG RL contract 2.4. */
@DescribedBy(
  () => (require('./docs/rl-fleet.description') as typeof Description).RL_FLEET_DESCRIPTION,
)
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
  setVersion(@Req() request: RlRequest): RlWorkersAnswer {
    const version = this.writes.readVersion(request);
    return this.forEach(request, (worker) => {
      this.writes.setVersion(worker, version);
    });
  }

  @Post('state')
  @HttpCode(200)
  @RouteConfig({ keepsBytes: true })
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
