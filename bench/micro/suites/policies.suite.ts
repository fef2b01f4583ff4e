import { randomBytes } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MetricStore } from '@smg/observability';
import {
  METRICS,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type RoutingPolicy,
  type SelectionContext,
  type WorkerView,
} from '@smg/plugin-api';
import { DEFAULT_POLICY_PARAMETERS, PolicyModule, PolicyRegistry } from '@smg/policy';
import { FakeDirectory, FakeEvents, fakeContext, fakeWorkers } from '@smg/testing';
import { type MicroCase, type MicroSuite, repeat } from '../micro-suite';

const MODEL = 'bench-model';
const POLICIES = [
  'round_robin',
  'random',
  'power_of_two',
  'least_load',
  'manual',
  'consistent_hashing',
  'prefix_hash',
  'cache_aware',
];
/** Requests that differ; a policy sees each of them again and again. */
const REQUESTS = 512;
const KIB = 1_024;

@Module({})
class FleetModule {}

async function bootPolicy(policy: string, workers: readonly WorkerView[]): Promise<RoutingPolicy> {
  const fleet = [
    { provide: WORKER_DIRECTORY, useValue: new FakeDirectory(workers) },
    { provide: WORKER_EVENTS, useValue: new FakeEvents() },
    { provide: METRICS, useValue: new MetricStore() },
  ];
  const app = await NestFactory.createApplicationContext({
    module: FleetModule,
    global: true,
    providers: fleet,
    exports: [WORKER_DIRECTORY, WORKER_EVENTS, METRICS],
    imports: [
      PolicyModule.forRoot({ policy, requireFilters: [], parameters: DEFAULT_POLICY_PARAMETERS }),
    ],
  });
  return app.get(PolicyRegistry).policyFor(MODEL);
}

function fleetOf(count: number): readonly WorkerView[] {
  const workers = fakeWorkers(count, { modelId: MODEL });
  workers.forEach((worker, i) => (worker.load = i % 7));
  return Object.freeze(workers);
}

/** `length` letters and digits that never come again. */
function fresh(length: number): string {
  return randomBytes(length / 2).toString('hex');
}

/** Requests with a key, and a prompt of 1 KiB of which half is shared by groups of eight. */
function requests(): readonly SelectionContext[] {
  const beginnings = Array.from({ length: REQUESTS / 8 }, () => fresh(KIB / 2));
  return Array.from({ length: REQUESTS }, (_, i) => {
    const key = `session-${i}`;
    return fakeContext({
      model: MODEL,
      headers: { 'x-smg-routing-key': key },
      routingKey: key,
      text: (beginnings[i >> 3] ?? '') + fresh(KIB / 2),
    });
  });
}

/** prefix_hash by its prompt: a routing key would go first. */
const withoutKey = (context: SelectionContext): SelectionContext => ({
  ...context,
  routingKey: () => undefined,
});

/** 64 workers, prompts of 8 KiB that are three quarters known, in a tree filled to its 64 MiB. */
async function fullTree(): Promise<MicroCase> {
  const workers = fleetOf(64);
  const policy = await bootPolicy('cache_aware', workers);
  const prompts = Array.from({ length: 8 * KIB }, () => fresh(8 * KIB));
  const contextOf = (text: string): SelectionContext => fakeContext({ model: MODEL, text });
  for (const prompt of prompts) policy.select(workers, contextOf(prompt));
  const asked = prompts
    .slice(0, 4_096)
    .map((prompt) => contextOf(prompt.slice(0, 6 * KIB) + fresh(2 * KIB)));
  let turn = 0;
  const once = (): number => {
    turn = (turn + 1_021) % asked.length;
    return policy.select(workers, asked[turn]!) === undefined ? 0 : 1;
  };
  return repeat('cache_aware, 64 candidates, 8 KiB, full tree', once, { p99AtMostNs: 50_000 });
}

/** `select` of every policy that has something to decide, over frozen candidates as the pool gives them. */
export const policiesSuite: MicroSuite = {
  name: 'policies',
  async prepare() {
    const cases: MicroCase[] = [];
    for (const name of POLICIES) {
      for (const count of [8, 64, 512]) {
        const workers = fleetOf(count);
        const policy = await bootPolicy(name, workers);
        const asked = name === 'prefix_hash' ? requests().map(withoutKey) : requests();
        let turn = 0;
        cases.push(
          repeat(`${name}, ${count} candidates`, () => {
            turn = (turn + 1) % REQUESTS;
            return policy.select(workers, asked[turn]!) === undefined ? 0 : 1;
          }),
        );
      }
    }
    cases.push(await fullTree());
    return cases;
  },
};
