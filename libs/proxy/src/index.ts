export { ProxyModule } from './proxy.module';
export {
  DEFAULT_SELECTION_RETRY,
  PROXY_OPTIONS,
  type ProxyOptions,
  type SelectionRetry,
} from './proxy.options';
export { DataPlaneServer, type DataPlaneParts } from './data-plane.server';
export { InferenceController } from './inference.controller';
export { HotRoute, HOT_ROUTE_METADATA } from './hot-route.decorator';
export { RoutedWorkerInterceptor } from './routed-worker.interceptor';
export { onResponseOver } from './response-over';
export { createHardenedServer, type HardenedServerOptions } from './hardened-server';
export { answerRaw } from './kinds/realtime/raw-answer';
export { type Upgrades } from './upgrade-requests';
export { headOf } from './request-head';
export {
  replaceIdentity,
  type HandshakeFailure,
  type ServerIdentity,
  type ServerTls,
} from './tls-server';
export { INFERENCE_ROUTES, type RouteFacts } from './core/inference-routes';
