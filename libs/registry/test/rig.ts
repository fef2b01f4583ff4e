import { Global, Logger, Module } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  ENGINE_CATALOG,
  METRICS,
  WORKER_ADDRESSES,
  WORKER_CALLER,
  WORKER_EVENTS,
  type WorkerAddresses,
  type WorkerEvent,
  type WorkerEvents,
} from '@smg/plugin-api';
import { FakeCaller, FakeClock, FakeMetrics } from '@smg/testing';
import { DEFAULT_REGISTRY_OPTIONS, type RegistryOptions } from '../src/core/registry-options';
import { createUuidV7 } from '../src/core/uuid-v7';
import { RegistryModule } from '../src/registry.module';
import { REGISTRY_RUNTIME } from '../src/registry.tokens';
import { WorkerRegistry } from '../src/worker.registry';
import { testCatalog } from './catalog';
import { testClock } from './support';

/** What engines of the rig say of themselves. */
export const INFO = { served_model_name: 'm', version: '1', kv_role: 'kv_producer' };

export interface Answer {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests assert on whatever JSON came
  readonly json: any;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A registry behind a Nest application, with time and engines in the test's hand. */
export interface Rig {
  readonly app: NestFastifyApplication;
  readonly caller: FakeCaller;
  readonly time: FakeClock;
  readonly metrics: FakeMetrics;
  readonly registry: WorkerRegistry;
  readonly events: WorkerEvent[];
  readonly logged: string[];
  readonly call: (method: string, url: string, body?: unknown) => Promise<Answer>;
  readonly flush: () => Promise<void>;
  /** Registers a worker and waits until it is there. */
  readonly add: (spec: object) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** No address is refused. */
const ANYWHERE: WorkerAddresses = {
  refusalOf: () => undefined,
  check: () => Promise.resolve(undefined),
};

/** Boots with fakes for everything the registry asks of others; options over the defaults. */
export async function bootRegistry(
  options: Partial<RegistryOptions> = {},
  addresses: WorkerAddresses = ANYWHERE,
): Promise<Rig> {
  const caller = new FakeCaller()
    .on('/health', { status: 200 })
    .on('/server_info', { body: INFO })
    .on('/flush_cache', { status: 200 });
  const time = new FakeClock(1_700_000_000_000);
  const metrics = new FakeMetrics();
  const logged: string[] = [];
  let seed = 0;
  const values = [
    { provide: METRICS, useValue: metrics },
    { provide: WORKER_CALLER, useValue: caller },
    { provide: ENGINE_CATALOG, useValue: testCatalog() },
    { provide: WORKER_ADDRESSES, useValue: addresses },
  ];
  @Global()
  @Module({ providers: values, exports: values.map((it) => it.provide) })
  class Fakes {}
  const note = (...parts: unknown[]): void => {
    logged.push(parts.map(String).join(' '));
  };
  const builder = Test.createTestingModule({
    imports: [Fakes, RegistryModule.forRoot({ ...DEFAULT_REGISTRY_OPTIONS, ...options })],
  })
    .setLogger({ log: note, warn: note, error: note, debug: note, verbose: note, fatal: note })
    .overrideProvider(REGISTRY_RUNTIME)
    .useValue({
      clock: testClock(time),
      random: () => 0,
      newId: createUuidV7(time.now, (size) => new Uint8Array(size).fill(seed++)),
    });
  const app = (await builder.compile()).createNestApplication<NestFastifyApplication>(
    new FastifyAdapter(),
  );
  const events: WorkerEvent[] = [];
  app.get<WorkerEvents>(WORKER_EVENTS).subscribe((event) => {
    events.push(event);
  });
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  const flush = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await time.advanceAsync(0);
  };
  const call: Rig['call'] = async (method, url, body) => {
    const sent = body === undefined ? {} : { payload: body as object };
    const answer = await app.inject({ method: method as 'GET', url, ...sent });
    const isJson = String(answer.headers['content-type']).includes('json');
    return {
      status: answer.statusCode,
      json: isJson && answer.body !== '' ? (JSON.parse(answer.body) as unknown) : undefined,
      text: answer.body,
      headers: answer.headers,
    };
  };
  const add = async (spec: object): Promise<string> => {
    const answer = await call('POST', '/workers', spec);
    await flush();
    return (answer.json as { readonly worker_id: string }).worker_id;
  };
  return {
    app,
    caller,
    time,
    metrics,
    registry: app.get(WorkerRegistry),
    events,
    logged,
    call,
    flush,
    add,
    close: async () => {
      await app.close();
      Logger.overrideLogger(false);
    },
  };
}
