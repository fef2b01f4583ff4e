import { Controller, Get, Res } from '@nestjs/common';
import { DescribedBy, Public } from '@smg/plugin-api';
import type * as Description from './docs/engine-metrics.description';
import { EngineMetricsGatherer } from './engine-metrics.gatherer';
import { type Reply } from './reply';

/** GET `/engine_metrics`: the metrics of every engine on one page. Law: SMG contract 2.5. */
@Public()
@DescribedBy(
  () =>
    (require('./docs/engine-metrics.description') as typeof Description).ENGINE_METRICS_DESCRIPTION,
)
@Controller('engine_metrics')
export class EngineMetricsController {
  constructor(private readonly gatherer: EngineMetricsGatherer) {}

  @Get()
  async scrape(@Res({ passthrough: true }) reply: Reply): Promise<string> {
    const page = await this.gatherer.page();
    if (page.ok) {
      reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8');
      return page.text;
    }
    reply.code(500).header('content-type', 'text/plain; charset=utf-8');
    return page.message;
  }
}
