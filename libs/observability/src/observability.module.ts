import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Logger as NestPinoLogger, PARAMS_PROVIDER_TOKEN, PinoLogger } from 'nestjs-pino';
import { LIFECYCLE, METRICS, REQUEST_OBSERVER } from '@smg/plugin-api';
import { PluginHostModule } from '@smg/plugin-host';
import { HttpRequestObserver } from './core/http-request-observer';
import { MetricStore } from './core/metric-store';
import { ProcessLifecycle } from './core/process-lifecycle';
import { EventLoopMonitor } from './event-loop.monitor';
import { GatewayLog } from './gateway-log';
import { HealthController } from './health.controller';
import { HealthListenerRunner } from './health-listener.runner';
import { LogMetrics } from './log-metrics';
import { MetricsServer } from './metrics.server';
import { OBSERVABILITY_OPTIONS, type ObservabilityOptions } from './observability.options';
import { ReadinessMonitor } from './readiness.monitor';

const CLOCK = { unixMs: () => Date.now(), monotonicMs: () => performance.now() };

function createMetricStore(options: ObservabilityOptions, log: GatewayLog): MetricStore {
  const buckets = options.durationBuckets ?? [];
  return new MetricStore({
    durationBuckets: buckets.length === 0 ? undefined : buckets,
    onRefreshError: (error) => {
      log.logger.error(error, 'metrics');
    },
  });
}

/** Metrics, logs, the request observer, health routes and the lifecycle. Global. */
@Module({})
export class ObservabilityModule {
  static forRoot(options: ObservabilityOptions = {}): DynamicModule {
    return {
      module: ObservabilityModule,
      global: true,
      // Terminus would log every probe that answers 503.
      imports: [PluginHostModule, TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
      providers: [
        { provide: OBSERVABILITY_OPTIONS, useValue: options },
        { provide: GatewayLog, useFactory: () => options.log ?? new GatewayLog() },
        // nestjs-pino's own module is left out for its middleware; these are its injectables.
        {
          provide: PARAMS_PROVIDER_TOKEN,
          inject: [GatewayLog],
          useFactory: (log: GatewayLog) => ({
            pinoHttp: { logger: log.pino, autoLogging: false },
            renameContext: 'target',
          }),
        },
        PinoLogger,
        {
          provide: NestPinoLogger,
          inject: [GatewayLog],
          useFactory: (log: GatewayLog) => log.logger,
        },
        {
          provide: MetricStore,
          inject: [OBSERVABILITY_OPTIONS, GatewayLog],
          useFactory: createMetricStore,
        },
        { provide: METRICS, useExisting: MetricStore },
        {
          provide: REQUEST_OBSERVER,
          inject: [MetricStore, GatewayLog],
          useFactory: (store: MetricStore, log: GatewayLog) =>
            new HttpRequestObserver(store, log, CLOCK),
        },
        ProcessLifecycle,
        { provide: LIFECYCLE, useExisting: ProcessLifecycle },
        ReadinessMonitor,
        HealthListenerRunner,
        MetricsServer,
        EventLoopMonitor,
        LogMetrics,
      ],
      exports: [
        OBSERVABILITY_OPTIONS,
        GatewayLog,
        NestPinoLogger,
        PinoLogger,
        PARAMS_PROVIDER_TOKEN,
        MetricStore,
        METRICS,
        REQUEST_OBSERVER,
        ProcessLifecycle,
        LIFECYCLE,
        ReadinessMonitor,
        HealthListenerRunner,
        MetricsServer,
      ],
    };
  }
}
