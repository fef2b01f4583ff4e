import { Logger } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Server } from 'node:http';
import { type GatewayConfig } from '@smg/config';
import { flushLogs, listenError, MetricsServer, ProcessLifecycle } from '@smg/observability';
import {
  ENTRY_CONTROL,
  type EntryControl,
  REQUEST_OBSERVER,
  type RequestObserver,
} from '@smg/plugin-api';
import { DataPlaneServer } from '@smg/proxy';
import { shutDownGracefully } from './graceful-shutdown';
import { Reload } from './reload';
import { limitsEntry } from './slices';

/** A gateway that is built but not listening, or listening, or gone. */
export class Gateway {
  private ending: Promise<void> | undefined;
  private reloading: Reload | undefined;

  constructor(
    /** The Nest application; for embedding programs and tests. */
    readonly app: NestFastifyApplication,
    readonly config: GatewayConfig,
  ) {}

  private get server(): Server {
    return this.app.getHttpServer();
  }

  /** Port of the main listener. @throws Error before `listen`. */
  get port(): number {
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('not listening');
    return address.port;
  }

  /** Port of `/metrics`; undefined before `listen`. */
  get metricsPort(): number | undefined {
    return this.app.get(MetricsServer).address?.port;
  }

  /** Opens the main port; the metrics and health ports opened while the application started. */
  async listen(): Promise<void> {
    const { host, port } = this.config.listener;
    try {
      await this.app.listen({ host, port });
    } catch (error) {
      throw listenError('--port', host, port, error);
    }
  }

  /** Reads file-backed settings again (keys, certificates, limits), as on SIGHUP; never rejects. */
  reload(): Promise<void> {
    this.reloading ??= Reload.of(this.app);
    return this.reloading.run();
  }

  /** Graceful end, as on SIGTERM; a second call waits for the first. */
  shutdown(): Promise<void> {
    this.ending ??= shutDownGracefully({
      server: this.server,
      gracePeriodMs: this.config.requests.shutdownGracePeriodSecs * 1000,
      beginDraining: () => {
        this.app.get(ProcessLifecycle).beginDraining();
      },
      inFlight: () => this.app.get<RequestObserver>(REQUEST_OBSERVER).inFlight,
      refuseWaiting: () => {
        if (limitsEntry(this.config)) this.app.get<EntryControl>(ENTRY_CONTROL).close();
      },
      leaveSessions: () => {
        this.app.get(DataPlaneServer).leaveSockets();
      },
      drained: (cut) => {
        const log = new Logger('shutdown');
        if (cut === 0) log.log('drained: every request was finished');
        else log.warn(`the grace period is over; unfinished requests cut: ${cut}`);
      },
      dispose: () => this.dispose(),
    });
    return this.ending;
  }

  /** Immediate end: connections are cut. */
  close(): Promise<void> {
    this.ending ??= this.dispose();
    return this.ending;
  }

  private async dispose(): Promise<void> {
    this.server.closeAllConnections();
    this.app.get(DataPlaneServer).destroySockets();
    await this.app.close();
    await flushLogs();
  }
}
