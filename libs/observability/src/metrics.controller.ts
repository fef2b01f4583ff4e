import { Controller, Get, Header, Inject, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import { register } from 'prom-client';
import { Public } from '@smg/plugin-api';
import { MetricStore } from './core/metric-store';
import { renderMetricsPage } from './metrics-page';

/** GET /metrics; stands in for the controller of @willsoto/nestjs-prometheus, which sets its path. */
@Controller()
@Public()
export class MetricsController {
  constructor(@Inject(MetricStore) private readonly store: MetricStore) {}

  @Get()
  @Header('content-type', register.contentType)
  scrape(): StreamableFile {
    return new StreamableFile(Readable.from(renderMetricsPage(this.store), { objectMode: false }));
  }
}
