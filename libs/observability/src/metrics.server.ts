import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AddressInfo } from 'node:net';
import { MetricStore } from './core/metric-store';
import { listenError } from './listen-error';
import { createMetricsApp } from './metrics-app';
import { OBSERVABILITY_OPTIONS, type ObservabilityOptions } from './observability.options';

const ANY_HOST = '0.0.0.0';

/** Serves `/metrics` on a port of its own, from before the gateway listens until after it stopped. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('metrics');
  private app: NestFastifyApplication | undefined;

  constructor(
    @Inject(OBSERVABILITY_OPTIONS) private readonly options: ObservabilityOptions,
    private readonly store: MetricStore,
  ) {}

  /** Where it listens; undefined while it does not. */
  get address(): AddressInfo | undefined {
    const address = (this.app?.getHttpServer() as AddressSource | undefined)?.address();
    return typeof address === 'object' && address !== null ? address : undefined;
  }

  /** @throws Error when the port cannot be taken; the start fails with it. */
  async onApplicationBootstrap(): Promise<void> {
    const { prometheusPort: port, prometheusHost: host = ANY_HOST } = this.options;
    if (port === undefined) return;
    const app = await createMetricsApp(this.store);
    try {
      await app.listen(port, host);
    } catch (error) {
      await app.close();
      throw listenError('--prometheus-port', host, port, error);
    }
    this.app = app;
    this.logger.log(`metrics are served on ${host} port ${this.address?.port ?? port}`);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.app?.close();
    this.app = undefined;
  }
}

interface AddressSource {
  address(): AddressInfo | string | null;
}
