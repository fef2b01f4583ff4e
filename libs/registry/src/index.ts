export { RegistryModule } from './registry.module';
export { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
export {
  DEFAULT_REGISTRY_OPTIONS,
  type HealthOptions,
  type RegistryOptions,
  type ResilienceOptions,
  type StartupWorker,
} from './core/registry-options';
export { WorkerRegistry } from './worker.registry';
export { WorkerCommands, type AcceptedWorker } from './worker.commands';
export { Worker } from './core/worker';
export { type WorkerPool } from './core/worker-pool';
export { type EffectiveRetry, type WorkerSettings } from './core/worker-settings';
export { type Clock } from './core/clock';
export { WorkerApiError } from './core/worker-api-error';
export { parseWorkerUrl, type WorkerAddress, type WorkerUrlResult } from './core/worker-url';
