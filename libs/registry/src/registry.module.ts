import { randomBytes } from 'node:crypto';
import { Global, Module, type DynamicModule } from '@nestjs/common';
import {
  READINESS_CHECK,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  WORKER_LOADS,
  WORKER_REGISTRAR,
} from '@smg/plugin-api';
import { AdminController } from './admin.controller';
import { systemClock } from './core/clock';
import { JobQueue } from './core/job-queue';
import { type RegistryOptions } from './core/registry-options';
import { createUuidV7 } from './core/uuid-v7';
import { EngineMetricsController } from './engine-metrics.controller';
import { EngineMetricsGatherer } from './engine-metrics.gatherer';
import { EngineFleet } from './engine.fleet';
import { EngineQuestions } from './engine.questions';
import { HealthMonitor } from './health.monitor';
import { LoadFetcher } from './load.fetcher';
import { LoadMetrics } from './load.metrics';
import { LoadMonitor } from './load.monitor';
import { ModelsController } from './models.controller';
import { RegistrationWaiter } from './registration.waiter';
import { RegistrationWorkflow } from './registration.workflow';
import { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { SpecGate } from './spec.gate';
import { StartupRegistration } from './startup.registration';
import { WorkerCommands } from './worker.commands';
import { WorkerEventBus } from './worker-event.bus';
import { WorkerMetrics } from './worker.metrics';
import { CommandRegistrar } from './worker.registrar';
import { WorkerRegistry } from './worker.registry';
import { WorkerRemover } from './worker.remover';
import { WorkersController } from './workers.controller';
import { WorkersReadinessCheck } from './workers.readiness-check';

const RUNTIME: RegistryRuntime = {
  clock: systemClock,
  random: Math.random,
  newId: createUuidV7(Date.now, randomBytes),
};

const createJobQueue = (options: RegistryOptions, runtime: RegistryRuntime): JobQueue =>
  new JobQueue(runtime.clock, {
    capacity: options.jobQueueCapacity,
    concurrency: options.jobQueueConcurrency,
  });

/**
 * The registry of workers. Needs, from global modules: METRICS, WORKER_CALLER, WORKER_ADDRESSES and
 * ENGINE_CATALOG.
 * Provides WORKER_DIRECTORY, WORKER_EVENTS, WORKER_LOADS and WORKER_REGISTRAR to everyone.
 */
@Global()
@Module({})
export class RegistryModule {
  static forRoot(options: RegistryOptions): DynamicModule {
    return {
      module: RegistryModule,
      controllers: [WorkersController, AdminController, ModelsController, EngineMetricsController],
      providers: [
        { provide: REGISTRY_OPTIONS, useValue: options },
        { provide: REGISTRY_RUNTIME, useValue: RUNTIME },
        WorkerEventBus,
        { provide: WORKER_EVENTS, useExisting: WorkerEventBus },
        WorkerRegistry,
        { provide: WORKER_DIRECTORY, useExisting: WorkerRegistry },
        WorkerMetrics,
        EngineQuestions,
        // Before the monitor: what it knows of an engine changes before the engine is asked again.
        LoadFetcher,
        LoadMonitor,
        { provide: WORKER_LOADS, useExisting: LoadMonitor },
        LoadMetrics,
        EngineFleet,
        EngineMetricsGatherer,
        RegistrationWorkflow,
        WorkerRemover,
        SpecGate,
        {
          provide: JobQueue,
          useFactory: createJobQueue,
          inject: [REGISTRY_OPTIONS, REGISTRY_RUNTIME],
        },
        WorkerCommands,
        RegistrationWaiter,
        CommandRegistrar,
        { provide: WORKER_REGISTRAR, useExisting: CommandRegistrar },
        HealthMonitor,
        StartupRegistration,
        ...READINESS_CHECK.provide(WorkersReadinessCheck),
      ],
      exports: [
        WORKER_DIRECTORY,
        WORKER_EVENTS,
        WORKER_LOADS,
        WORKER_REGISTRAR,
        REGISTRY_OPTIONS,
        WorkerRegistry,
        WorkerCommands,
      ],
    };
  }
}
