import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MetricStore } from '@smg/observability';
import {
  METRICS,
  type SelectionLeg,
  type SelectionOutcome,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  WORKER_LOADS,
  type WorkerLoads,
  type WorkerPoolView,
  type WorkerView,
} from '@smg/plugin-api';
import { DEFAULT_POLICY_PARAMETERS, PolicyModule, WorkerSelector } from '@smg/policy';
import { FakeDirectory, FakeEvents } from '@smg/testing';
import { Random } from './random';
import { MODEL, SimWorker } from './sim-worker';
import { type Variant } from './variants';

@Module({})
class FleetModule {}

class ReportedLoads implements WorkerLoads {
  reportOf(worker: WorkerView): SimWorker['report'] {
    return worker instanceof SimWorker ? worker.report : undefined;
  }
}

export interface FleetOptions {
  readonly variant: Variant;
  readonly count: number;
  readonly leg: Exclude<SelectionLeg, 'decode'>;
  readonly seed: number;
}

/** Workers, and the selector of the product in front of them, wired as the gateway wires it. */
export class Fleet {
  private constructor(
    readonly workers: readonly SimWorker[],
    readonly selector: WorkerSelector,
    private readonly directory: FakeDirectory,
    private readonly events: FakeEvents,
    private readonly app: INestApplicationContext,
  ) {}

  static async start({ variant, count, leg, seed }: FleetOptions): Promise<Fleet> {
    const workers = Array.from({ length: count }, (_, place) => new SimWorker(place, leg));
    const directory = new FakeDirectory(workers);
    const events = new FakeEvents();
    const random = new Random(seed);
    const app = await NestFactory.createApplicationContext({
      module: FleetModule,
      global: true,
      providers: [
        { provide: WORKER_DIRECTORY, useValue: directory },
        { provide: WORKER_EVENTS, useValue: events },
        { provide: WORKER_LOADS, useValue: new ReportedLoads() },
        { provide: METRICS, useValue: new MetricStore() },
      ],
      exports: [WORKER_DIRECTORY, WORKER_EVENTS, WORKER_LOADS, METRICS],
      imports: [
        PolicyModule.forRoot({
          policy: variant.policy,
          stickyKeys: variant.isSticky,
          requireFilters: [],
          parameters: {
            ...DEFAULT_POLICY_PARAMETERS,
            ...variant.parameters,
            random: () => random.next(),
          },
        }),
      ],
    });
    return new Fleet(workers, app.get(WorkerSelector), directory, events, app);
  }

  /** Asked anew for each request, as the gateway does. */
  pool(leg: FleetOptions['leg']): WorkerPoolView {
    return this.directory.pool(MODEL, leg)!;
  }

  /** The worker that a selection gave; undefined when it gave nobody. */
  chosen(outcome: SelectionOutcome): SimWorker | undefined {
    if (outcome.kind !== 'selected') return undefined;
    const { worker } = outcome;
    if (worker instanceof SimWorker) return worker;
    throw new Error(`${worker.url} is no worker of this fleet`);
  }

  setAvailable(worker: SimWorker, isAvailable: boolean): void {
    worker.isAvailable = isAvailable;
    this.directory.changed();
  }

  /** New weights in the worker's engine, as the RL control plane announces them. */
  weightsChanged(worker: SimWorker): void {
    this.events.emit({ kind: 'weights_changed', baseUrl: worker.baseUrl });
  }

  async stop(): Promise<void> {
    await this.app.close();
  }
}
