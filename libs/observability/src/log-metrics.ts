import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { METRICS, type Metrics } from '@smg/plugin-api';
import { GatewayLog } from './gateway-log';

/** Says in numbers what the log could not say in lines. */
@Injectable()
export class LogMetrics implements OnModuleInit {
  constructor(
    @Inject(METRICS) private readonly metrics: Metrics,
    private readonly log: GatewayLog,
  ) {}

  onModuleInit(): void {
    const lost = this.metrics.counter({
      name: 'smg_log_lines_dropped_total',
      help: 'Log lines dropped because the reader of the log was stuck.',
    });
    const failed = this.metrics.counter({
      name: 'smg_log_write_failures_total',
      help: 'Writes to the log that failed.',
    });
    let lostBefore = 0;
    let failedBefore = 0;
    this.metrics.onCollect(() => {
      const { droppedLines, writeFailures } = this.log;
      if (droppedLines > lostBefore) lost.cell().inc(droppedLines - lostBefore);
      if (writeFailures > failedBefore) failed.cell().inc(writeFailures - failedBefore);
      lostBefore = droppedLines;
      failedBefore = writeFailures;
    });
  }
}
