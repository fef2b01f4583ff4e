import { Global, Module, type DynamicModule } from '@nestjs/common';
import { RELOADABLE, WORKER_ADDRESSES, WORKER_CALLER } from '@smg/plugin-api';
import { namesTlsFiles } from './core/tls-material';
import { UndiciTransport } from './undici.transport';
import { UndiciWorkerCaller } from './undici.worker-caller';
import { UPSTREAM_OPTIONS, type UpstreamOptions } from './upstream.options';
import { UpstreamPool } from './upstream.pool';
import { UPSTREAM_TRANSPORT } from './upstream.transport';
import { WorkerAddressGuard } from './worker-address.guard';
import { WorkerConnector } from './worker.connector';

/** Connections to engines; provides WORKER_CALLER, WORKER_ADDRESSES and the data plane's transport everywhere. */
@Global()
@Module({})
export class UpstreamModule {
  static forRoot(options: UpstreamOptions): DynamicModule {
    return {
      module: UpstreamModule,
      providers: [
        { provide: UPSTREAM_OPTIONS, useValue: options },
        WorkerAddressGuard,
        { provide: WORKER_ADDRESSES, useExisting: WorkerAddressGuard },
        ...(namesTlsFiles(options.tls) ? RELOADABLE.provide(WorkerConnector) : [WorkerConnector]),
        UpstreamPool,
        { provide: UPSTREAM_TRANSPORT, useClass: UndiciTransport },
        { provide: WORKER_CALLER, useClass: UndiciWorkerCaller },
      ],
      exports: [WORKER_CALLER, UPSTREAM_TRANSPORT, WORKER_ADDRESSES],
    };
  }
}
