import { Logger, Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import {
  ADMISSION,
  AFFINITY,
  ENTRY_CONTROL,
  ANSWER_RECORDER,
  LIFECYCLE,
  REQUEST_OBSERVER,
  REQUEST_TRACKER,
  RESPONSE_INTERCEPTOR,
  SERVING_AUTH,
  WORKER_DIRECTORY,
  type Admission,
  type EntryControl,
  type AnswerRecorder,
  type Lifecycle,
  type RequestObserver,
  type RequestTracker,
  type ServingAuth,
  type WorkerDirectory,
} from '@smg/plugin-api';
import { PluginHostModule } from '@smg/plugin-host';
import { UPSTREAM_TRANSPORT, type UpstreamTransport } from '@smg/upstream';
import { randomBytes } from 'node:crypto';
import { ConnectionBudget, openFileLimit } from './connection.budget';
import { RequestIds } from './core/request-id';
import { DataPlaneServer } from './data-plane.server';
import { InferenceController } from './inference.controller';
import { PAIR_SERVICES, pairServices } from './pd/pair.provider';
import { type PairServices } from './pd/pair.services';
import { PROXY_OPTIONS, type ProxyOptions } from './proxy.options';
import { ResponseInterceptorChain } from './response-interceptor.chain';
import { compileRoutes } from './route-table';
import { RoutedWorkerInterceptor } from './routed-worker.interceptor';
import { RouterMetrics } from './router.metrics';
import { RUN_SERVICES } from './run-services.token';
import { type RunServices } from './run.services';
import { SelectorBridge } from './selector.bridge';

const runServices: FactoryProvider<RunServices> = {
  provide: RUN_SERVICES,
  inject: [
    PROXY_OPTIONS,
    WORKER_DIRECTORY,
    SelectorBridge,
    UPSTREAM_TRANSPORT,
    SERVING_AUTH,
    REQUEST_OBSERVER,
    LIFECYCLE,
    RouterMetrics,
    { token: ADMISSION, optional: true },
    { token: ANSWER_RECORDER, optional: true },
    { token: ENTRY_CONTROL, optional: true },
    PAIR_SERVICES,
    { token: REQUEST_TRACKER, optional: true },
  ],
  useFactory: (
    options: ProxyOptions,
    directory: WorkerDirectory,
    selector: SelectorBridge,
    transport: UpstreamTransport,
    ...rest: [
      ServingAuth,
      RequestObserver,
      Lifecycle,
      RouterMetrics,
      Admission | undefined,
      AnswerRecorder | undefined,
      EntryControl | undefined,
      PairServices | undefined,
      RequestTracker | undefined,
    ]
  ): RunServices => {
    const [auth, observer, lifecycle, metrics, admission, recorder, entry, pairs, tracker] = rest;
    const logger = new Logger('proxy');
    return Object.freeze({
      options,
      directory,
      selector,
      transport,
      auth,
      admission,
      recorder,
      entry,
      pairs,
      tracker,
      observer,
      lifecycle,
      metrics,
      random: Math.random,
      now: () => performance.now(),
      logFault: (message: string, cause: unknown, requestId: string) => {
        const fields = { request_id: requestId, ...(cause instanceof Error ? { err: cause } : {}) };
        logger.error(fields, message);
      },
    });
  },
};

const dataPlane: FactoryProvider<DataPlaneServer> = {
  provide: DataPlaneServer,
  inject: [RUN_SERVICES, ResponseInterceptorChain],
  useFactory: (services: RunServices, chain: ResponseInterceptorChain): DataPlaneServer => {
    const { requestIdHeaders, openFileLimit: limit } = services.options;
    const names = requestIdHeaders.map((name) => name.toLowerCase());
    return new DataPlaneServer({
      services,
      routes: compileRoutes(InferenceController.prototype),
      interceptors: () => chain.all,
      requestIds: new RequestIds(names, randomBytes),
      budget: new ConnectionBudget(
        limit ?? openFileLimit(),
        () => services.transport.openConnections,
      ),
    });
  },
};

/** The data path: routes, pipeline, response interceptors. Provides AFFINITY to everyone. */
@Module({})
export class ProxyModule {
  static forRoot(options: ProxyOptions): DynamicModule {
    return {
      module: ProxyModule,
      global: true,
      imports: [PluginHostModule],
      controllers: [InferenceController],
      providers: [
        { provide: PROXY_OPTIONS, useValue: options },
        RouterMetrics,
        SelectorBridge,
        { provide: AFFINITY, useExisting: SelectorBridge },
        ResponseInterceptorChain,
        ...RESPONSE_INTERCEPTOR.provide(RoutedWorkerInterceptor),
        pairServices,
        runServices,
        dataPlane,
      ],
      exports: [DataPlaneServer, AFFINITY],
    };
  }
}
