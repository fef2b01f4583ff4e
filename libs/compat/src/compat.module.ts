import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { REQUEST_TRACKER } from '@smg/plugin-api';
import { AbortCaller } from './abort.caller';
import { AbortRequestController } from './abort.controller';
import { type CompatOptions } from './compat.options';
import { InFlight } from './core/in-flight';
import { LegacyWorkersController } from './legacy-workers.controller';
import { RouterVerbsController } from './router-verbs.controller';
import { SessionsController } from './sessions.controller';

const TRACKING: Provider[] = [
  { provide: InFlight, useFactory: () => new InFlight() },
  { provide: REQUEST_TRACKER, useExisting: InFlight },
];

/**
 * Routes that trainers expect of a router. Needs, from global modules: WORKER_REGISTRAR,
 * WORKER_DIRECTORY, WORKER_CALLER, ENGINE_CATALOG and AFFINITY; with `routerVerbs` ENGINE_CONTROL too.
 * With `tracksRequests` it provides REQUEST_TRACKER to everyone.
 */
@Module({})
export class CompatModule {
  static forRoot({ routerVerbs, tracksRequests }: CompatOptions): DynamicModule {
    return {
      module: CompatModule,
      global: true,
      controllers: [
        LegacyWorkersController,
        AbortRequestController,
        SessionsController,
        ...(routerVerbs ? [RouterVerbsController] : []),
      ],
      providers: [AbortCaller, ...(tracksRequests ? TRACKING : [])],
      exports: tracksRequests ? [REQUEST_TRACKER] : [],
    };
  }
}
