import {
  type ArgumentsHost,
  Catch,
  type DynamicModule,
  type ExceptionFilter,
  HttpException,
  Logger,
  Module,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { register } from 'prom-client';
import { MetricStore } from './core/metric-store';
import { MetricsController } from './metrics.controller';

/** Milliseconds a client may take for its request head. */
const REQUEST_TIMEOUT_MS = 10_000;
const PATH = '/metrics';

@Module({})
class MetricsAppModule {
  static over(store: MetricStore): DynamicModule {
    return {
      module: MetricsAppModule,
      global: true,
      imports: [
        PrometheusModule.register({
          controller: MetricsController,
          path: PATH,
          // The registry belongs to the process: a second gateway in it must not add them again.
          defaultMetrics: {
            enabled: register.getSingleMetric('process_cpu_seconds_total') === undefined,
          },
        }),
      ],
      providers: [{ provide: MetricStore, useValue: store }],
      exports: [MetricStore],
    };
  }
}

interface Reply {
  status(code: number): Reply;
  header(name: string, value: string): Reply;
  send(body?: string): unknown;
}

/** Anything but a scrape gets a status and no body, as everywhere in the gateway. */
@Catch()
class BareErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('metrics');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<Reply>();
    if (!(error instanceof HttpException)) {
      this.logger.error(error);
      reply.status(500).send();
      return;
    }
    const { url } = http.getRequest<{ url: string }>();
    if (error.getStatus() === 404 && url.split('?', 1)[0] === PATH) {
      reply.status(405).header('allow', 'GET, HEAD').send();
      return;
    }
    reply.status(error.getStatus()).send();
  }
}

/** The second, tiny application behind `--prometheus-port`; not listening yet. */
export async function createMetricsApp(store: MetricStore): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    MetricsAppModule.over(store),
    new FastifyAdapter({
      requestTimeout: REQUEST_TIMEOUT_MS,
      forceCloseConnections: true,
      // Node looks for overdue requests every 30 s unless told otherwise.
      http: { connectionsCheckingInterval: 1000 },
    }),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares this options bag as a class
    { abortOnError: false },
  );
  app.useGlobalFilters(new BareErrorFilter());
  return app;
}
