import { Global, Logger, Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { METRICS, WORKER_DIRECTORY, WORKER_EVENTS } from '@smg/plugin-api';
import { CandidateFilterChain, PolicyModule, WorkerSelector } from '@smg/policy';
import {
  FakeDirectory,
  FakeEvents,
  FakeMetrics,
  fakeContext,
  fakeWorkers,
  policyParameters,
} from '@smg/testing';

/** Boots selection with some plug-ins over two workers; what `createGateway` does, without a network. */
export async function bootSelection(plugins: readonly Type[], requireFilters: string[] = []) {
  Logger.overrideLogger(false);
  const workers = fakeWorkers(2, { modelId: 'm' });
  const directory = new FakeDirectory(workers);

  @Global()
  @Module({
    providers: [
      { provide: WORKER_DIRECTORY, useValue: directory },
      { provide: WORKER_EVENTS, useValue: new FakeEvents() },
      { provide: METRICS, useValue: new FakeMetrics() },
    ],
    exports: [WORKER_DIRECTORY, WORKER_EVENTS, METRICS],
  })
  class SeamsModule {}

  const app: TestingModule = await Test.createTestingModule({
    imports: [
      SeamsModule,
      PolicyModule.forRoot({
        policy: 'round_robin',
        requireFilters,
        parameters: policyParameters(),
      }),
      ...plugins,
    ],
  }).compile();
  await app.init();
  return {
    workers,
    app,
    filters: app.get(CandidateFilterChain).names,
    select: (headers: Record<string, string> = {}) =>
      app.get(WorkerSelector).select(directory.pool('m')!, fakeContext({ model: 'm', headers })),
  };
}
