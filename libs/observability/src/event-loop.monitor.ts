import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { METRICS, type Metrics } from '@smg/plugin-api';

/** Milliseconds between samples; a finer one wakes an idle process more often. */
const RESOLUTION_MS = 20;
const WINDOW_MS = 1000;
const STALL_NANOS = 100e6;
const NANOS = 1e9;

const QUANTILES: readonly number[] = [0.5, 0.9, 0.99, 1];

/**
 * The loop-delay pair of the SMG metrics, for the Node loop. The original's names are kept, so that
 * its dashboards work; the quantiles are those of the worst second since the last scrape.
 */
@Injectable()
export class EventLoopMonitor implements OnModuleInit, OnModuleDestroy {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private readonly worst = new Float64Array(QUANTILES.length);
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(METRICS) private readonly metrics: Metrics) {}

  onModuleInit(): void {
    const stalls = this.metrics.counter({
      name: 'smg_tokio_event_loop_stalls_total',
      help: 'Seconds in which the event loop was held for more than 100 ms.',
    });
    const quantiles = this.metrics.gauge({
      name: 'smg_tokio_event_loop_delay_seconds',
      help: 'Delay of the event loop: quantiles of the worst second since the last scrape.',
      labels: ['quantile'],
    });
    this.metrics.onCollect(() => {
      for (let index = 0; index < QUANTILES.length; index++) {
        quantiles.cell(String(QUANTILES[index])).set((this.worst[index] ?? 0) / NANOS);
      }
      this.worst.fill(0);
    });
    this.delay.enable();
    this.timer = setInterval(() => {
      if (this.delay.max - RESOLUTION_MS * 1e6 > STALL_NANOS) stalls.cell().inc();
      this.closeWindow();
    }, WINDOW_MS);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.delay.disable();
  }

  private closeWindow(): void {
    for (let index = 0; index < QUANTILES.length; index++) {
      // What is recorded is the whole interval between samples; the delay is what exceeds it.
      const interval = this.delay.percentile((QUANTILES[index] ?? 1) * 100);
      const delay = Math.max(0, interval - RESOLUTION_MS * 1e6);
      this.worst[index] = Math.max(this.worst[index] ?? 0, delay);
    }
    this.delay.reset();
  }
}
