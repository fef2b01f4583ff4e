import { Controller, Get, HttpCode, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ControlPlane, DescribedBy } from '@smg/plugin-api';
import type * as Description from './docs/admin.description';
import { fleetLoads, type FleetLoads } from './core/fleet-loads';
import { EngineFleet, type FlushReport, type WorkerLoad } from './engine.fleet';
import { type Reply } from './reply';
import { WorkerRegistry } from './worker.registry';

/** Orders to the whole fleet. Law: SMG contract 2.6. */
@ControlPlane()
@DescribedBy(() => (require('./docs/admin.description') as typeof Description).ADMIN_DESCRIPTION)
@Controller()
export class AdminController {
  constructor(
    private readonly fleet: EngineFleet,
    private readonly registry: WorkerRegistry,
  ) {}

  @Post('flush_cache')
  @HttpCode(200)
  async flushCache(@Res({ passthrough: true }) reply: Reply): Promise<object> {
    const report = await this.fleet.flushCaches();
    const hasFailures = report.failed.length > 0;
    if (hasFailures) reply.code(206);
    return {
      status: hasFailures ? 'partial_success' : 'success',
      message: messageOf(report),
      workers_flushed: report.successful.length,
      total_http_workers: report.engines,
      total_grpc_workers: 0,
      total_zmq_workers_skipped: 0,
      total_workers: this.registry.total,
      ...(hasFailures ? { successful: report.successful, failed: report.failed } : {}),
    };
  }

  /** Engines answer to either method, and so do their clients ask. */
  @Get('flush_cache')
  @RouteConfig({ changesEngines: true })
  getFlushCache(@Res({ passthrough: true }) reply: Reply): Promise<object> {
    return this.flushCache(reply);
  }

  /** What an engine answers here, for all of them: one entry per worker and rank. */
  @Get('v1/loads')
  async engineLoads(): Promise<FleetLoads> {
    return fleetLoads(this.registry.all(), await this.fleet.ranks());
  }

  @Get('get_loads')
  async loads(): Promise<{ readonly workers: readonly WorkerLoad[] }> {
    return { workers: await this.fleet.loads() };
  }
}

function messageOf(report: FlushReport): string {
  if (report.engines === 0) return 'No workers available for cache flush';
  if (report.failed.length === 0) {
    return `Successfully flushed the cache of all ${report.engines} workers`;
  }
  return `Flushed the cache of ${report.successful.length} of ${report.engines} workers`;
}
