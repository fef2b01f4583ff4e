import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type HealthListener, startHealthListener } from './health-listener';
import { OBSERVABILITY_OPTIONS, type ObservabilityOptions } from './observability.options';
import { ReadinessMonitor } from './readiness.monitor';

/** Runs the health listener for as long as the application lives. */
@Injectable()
export class HealthListenerRunner implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('health');
  private listener: HealthListener | undefined;

  constructor(
    @Inject(OBSERVABILITY_OPTIONS) private readonly options: ObservabilityOptions,
    private readonly monitor: ReadinessMonitor,
  ) {}

  /** Port it listens on; undefined while it does not. */
  get port(): number | undefined {
    return this.listener?.port;
  }

  /** @throws Error when the port cannot be taken; the start fails with it. */
  async onApplicationBootstrap(): Promise<void> {
    const { healthCheckPort: port, healthCheckHost: host } = this.options;
    if (port === undefined) return;
    const { memory } = this.monitor.board;
    const onFailure = (error: Error): void => {
      this.logger.error(`--health-check-port is no longer served: ${error.message}`);
    };
    this.listener = await startHealthListener({ port, host, memory, onFailure });
    this.logger.log(`health probes are served on port ${this.listener.port}`);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.listener?.close();
    this.listener = undefined;
  }
}
