import { type EntryControl, type EntryListener } from '@smg/plugin-api';
import { AdmissionModule, type EntryOptions } from '@smg/admission';
import { FakeDirectory, FakeEvents, FakeMetrics, fakeWorker } from '@smg/testing';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type MicroSuite, repeat } from '../micro-suite';

@Module({})
class World {}

async function entryOf(entry: EntryOptions): Promise<EntryControl> {
  const worker = fakeWorker({ labels: { max_running_requests: '1024' } });
  const provided: [token: string, value: unknown][] = [
    ['smg:metrics', new FakeMetrics()],
    ['smg:worker-directory', new FakeDirectory([worker])],
    ['smg:worker-events', new FakeEvents()],
  ];
  const module = await Test.createTestingModule({
    imports: [
      {
        module: World,
        global: true,
        providers: provided.map(([provide, useValue]) => ({ provide, useValue })),
        exports: provided.map(([provide]) => provide),
      },
      AdmissionModule.forRoot({
        rateLimitEnabled: false,
        rateLimitConfig: undefined,
        trustHeader: false,
        headerName: 'x-smg-tenant-id',
        entry,
      }),
    ],
  }).compile();
  return module.get<EntryControl>('smg:entry-control', { strict: false });
}

const LISTENER: EntryListener = {
  hasAnswered: false,
  onAdmitted: () => undefined,
  onRefused: () => undefined,
};

/** One request in and out, nobody waiting; and one that takes the place of a full queue's first. */
export const admissionSuite: MicroSuite = {
  name: 'admission',
  async prepare() {
    const limits = { maxConcurrentRequests: 64, queueSize: 10_000, queueTimeoutSecs: 60 };
    const plain = await entryOf({ ...limits, refillPerSecond: 0, scheduler: undefined });
    const busy = await entryOf({ ...limits, refillPerSecond: 0, scheduler: undefined });
    const byClass = await entryOf({
      ...limits,
      refillPerSecond: 0,
      scheduler: { defaultMaxClass: 'system', config: undefined, tenantMetricTopN: 32 },
    });
    const request = {
      authenticatedTenant: 'auth:a',
      peer: '10.0.0.1',
      header: (name: string) => (name === 'x-smg-priority' ? 'interactive' : undefined),
    };
    const waiting = Array.from({ length: 10_064 }, () => busy.enter(request, LISTENER));
    let next = 0;
    const through = (entry: EntryControl) => (): number => {
      const pass = entry.enter(request, LISTENER);
      pass.leave();
      return pass.isWaiting ? 1 : 0;
    };
    return [
      repeat('in and out, one limit', through(plain)),
      repeat('in and out, by class', through(byClass)),
      repeat('leave and join a queue of 10,000', () => {
        const index = (next += 1) % 10_000;
        waiting[index]?.leave();
        waiting[index] = busy.enter(request, LISTENER);
        return waiting[index].isWaiting ? 1 : 0;
      }),
    ];
  },
};
