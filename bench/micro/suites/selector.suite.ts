import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MetricStore } from '@smg/observability';
import { METRICS, WORKER_DIRECTORY, WORKER_EVENTS, type WorkerView } from '@smg/plugin-api';
import { DEFAULT_POLICY_PARAMETERS, PolicyModule, WorkerSelector } from '@smg/policy';
import { fakeContext, FakeDirectory, FakeEvents, fakeWorkers } from '@smg/testing';
import { type MicroCase, type MicroSuite, repeat } from '../micro-suite';

const HEADER = 'x-worker-filter';
const MODEL = 'bench-model';

/** Carries what the selector asks other libs for. */
@Module({})
class FleetModule {}

/** The selector as the gateway wires it, with the real metric cells, over a fixed fleet. */
async function bootSelector(policy: string, directory: FakeDirectory): Promise<WorkerSelector> {
  const fleet = [
    { provide: WORKER_DIRECTORY, useValue: directory },
    { provide: WORKER_EVENTS, useValue: new FakeEvents() },
    { provide: METRICS, useValue: new MetricStore() },
  ];
  const app = await NestFactory.createApplicationContext({
    module: FleetModule,
    global: true,
    providers: fleet,
    exports: [WORKER_DIRECTORY, WORKER_EVENTS, METRICS],
    imports: [
      PolicyModule.forRoot({
        policy,
        workerFilterHeader: HEADER,
        requireFilters: ['label'],
        parameters: { ...DEFAULT_POLICY_PARAMETERS, random: Math.random },
      }),
    ],
  });
  return app.get(WorkerSelector);
}

/** Availability, filters and policy together: what one attempt pays to know its worker. */
export const selectorSuite: MicroSuite = {
  name: 'selector',
  async prepare() {
    const cases: MicroCase[] = [];
    for (const policy of ['round_robin', 'power_of_two']) {
      for (const count of [8, 1_000]) {
        const fleet: WorkerView[] = fakeWorkers(count, { modelId: MODEL });
        const directory = new FakeDirectory(fleet);
        const selector = await bootSelector(policy, directory);
        const pool = directory.pool(MODEL)!;
        const context = fakeContext({ model: MODEL, endpoint: 'chat' });
        cases.push(
          repeat(`${policy}, ${count} candidates`, () =>
            selector.select(pool, context).kind === 'selected' ? 1 : 0,
          ),
        );
      }
    }
    return cases;
  },
};
