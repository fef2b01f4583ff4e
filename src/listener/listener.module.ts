import { type DynamicModule, Module } from '@nestjs/common';
import { RELOADABLE } from '@smg/plugin-api';
import { ListenerMetrics } from './listener-metrics';
import { type TlsCertificate } from './tls/tls-certificate';

/** What the main port adds to the application: its metrics, and its certificate to SIGHUP. */
@Module({})
export class ListenerModule {
  static forRoot(certificate: TlsCertificate | undefined): DynamicModule {
    const reloadable =
      certificate === undefined
        ? []
        : RELOADABLE.provide({ label: 'tls', useFactory: () => certificate });
    return {
      module: ListenerModule,
      providers: [ListenerMetrics, ...reloadable],
      exports: [ListenerMetrics],
    };
  }
}
