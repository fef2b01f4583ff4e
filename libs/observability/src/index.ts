export { ObservabilityModule } from './observability.module';
export { OBSERVABILITY_OPTIONS, type ObservabilityOptions } from './observability.options';
export { flushLogs, GatewayLog, type GatewayLogOptions, type LogLevel } from './gateway-log';
export { GatewayLogger } from './gateway-logger';
export { MetricStore, type MetricStoreOptions } from './core/metric-store';
export { DURATION_BUCKETS } from './core/duration-buckets';
export { LabelCap, MODEL_LABEL_LIMIT, OTHER_LABEL } from './core/label-cap';
export {
  HttpRequestObserver,
  type AccessSink,
  type ObserverClock,
} from './core/http-request-observer';
export { type AccessLevel } from './core/access-line';
export { ProcessLifecycle } from './core/process-lifecycle';
export { HealthBoard, type ReadinessVerdict } from './core/health-board';
export { ReadinessMonitor } from './readiness.monitor';
export { MetricsServer } from './metrics.server';
export { listenError } from './listen-error';
export { HealthListenerRunner } from './health-listener.runner';
export {
  startHealthListener,
  type HealthListener,
  type HealthListenerOptions,
} from './health-listener';
