import { Module, type DynamicModule } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyInstance } from 'fastify';
import { Test } from '@nestjs/testing';
import {
  LIFECYCLE,
  METRICS,
  REQUEST_OBSERVER,
  RESPONSE_INTERCEPTOR,
  ResponseInterceptor,
  SERVING_AUTH,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type ResponseHead,
} from '@smg/plugin-api';
import { DEFAULT_POLICY_PARAMETERS, PolicyModule } from '@smg/policy';
import { UpstreamModule } from '@smg/upstream';
import { type AddressInfo } from 'node:net';
import { DataPlaneServer } from './data-plane.server';
import { createHardenedServer } from './hardened-server';
import { ProxyModule } from './proxy.module';
import {
  CountingMetrics,
  FakeWorker,
  json,
  post,
  RawClient,
  RawEngine,
} from '../test/test-support';

class Late extends ResponseInterceptor {
  readonly name = 'late';
  readonly order = 900;
  onHead(head: ResponseHead) {
    head.set('x-late', head.get('x-smg-routed-worker-id') ?? 'missing');
  }
}

@Module({ providers: [...RESPONSE_INTERCEPTOR.provide(Late)] })
class LatePlugin {}

const records: unknown[] = [];

@Module({})
class Fakes {
  static with(worker: FakeWorker): DynamicModule {
    const pool = { model: 'm', workers: [worker], available: () => [worker] };
    const values: Record<string, unknown> = {
      [METRICS]: new CountingMetrics(),
      [WORKER_EVENTS]: { subscribe: () => () => undefined, emit: () => undefined },
      [WORKER_DIRECTORY]: {
        epoch: 0,
        all: () => [worker],
        byId: () => undefined,
        byUrl: () => undefined,
        pool: () => pool,
      },
      [SERVING_AUTH]: { decide: () => ({ allowed: true, consumesAuthorization: false }) },
      [REQUEST_OBSERVER]: {
        inFlight: 0,
        started: () => undefined,
        finished: (r: unknown) => records.push(r),
      },
      [LIFECYCLE]: { isDraining: false },
    };
    const tokens = Object.keys(values);
    return {
      module: Fakes,
      global: true,
      providers: tokens.map((provide) => ({ provide, useValue: values[provide] })),
      exports: tokens,
    };
  }
}

describe.each([[true], [false]])('ProxyModule with the hot lane %s', (hotLane) => {
  let app: NestFastifyApplication;
  let engine: RawEngine;
  let plane: DataPlaneServer | undefined;

  beforeAll(async () => {
    engine = await RawEngine.open((socket) => socket.write(json(200, 'ok')));
    const module = await Test.createTestingModule({
      imports: [
        Fakes.with(new FakeWorker(engine.url)),
        UpstreamModule.forRoot({ poolIdleTimeoutSecs: 3 }),
        PolicyModule.forRoot({
          policy: 'round_robin',
          workerFilterHeader: undefined,
          requireFilters: [],
          parameters: DEFAULT_POLICY_PARAMETERS,
        }),
        ProxyModule.forRoot({
          maxPayloadSize: 1e6,
          bodyIdleTimeoutSecs: 5,
          streamStallTimeoutSecs: 5,
          requestIdHeaders: ['x-request-id'],
          routingKeyHeaders: [],
          hotLane,
          requireModel: false,
          retriesDisabled: false,
        }),
        LatePlugin,
      ],
    }).compile();
    const adapter = new FastifyAdapter({
      serverFactory: (handler: (...args: never[]) => void) =>
        createHardenedServer(
          { answersExpectation: (r) => plane?.owns(r) === true },
          (request, response) => {
            if (plane?.handle(request, response) !== true)
              handler(request as never, response as never);
          },
        ),
    } as never);
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest declares its option bag as a class and takes literals
    app = module.createNestApplication<NestFastifyApplication>(adapter, {
      logger: false,
      bodyParser: false,
    });
    const fastify: FastifyInstance = adapter.getInstance();
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser(
      '*',
      (_request: unknown, _payload: unknown, done: (e: null) => void) => {
        done(null);
      },
    );
    await app.init();
    plane = app.get(DataPlaneServer);
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    await app.close();
    await engine.close();
  });

  it('serves the declared routes with every registered interceptor, in order', async () => {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const client = new RawClient(port).send(
      post('/generate', '{"text":"a"}', 'x-request-id: same\r\n'),
    );
    const answer = await client.until(() => client.closed);
    expect(answer).toMatchObject({ status: 200, body: 'ok' });
    expect(answer.head).toContain(`x-late: ${engine.url}`);
    expect(answer.head).toContain('x-request-id: same');
    expect(records.at(-1)).toMatchObject({ route: '/generate', status: 200, requestId: 'same' });
  });

  it('asks for an expected body once, and not before it is wanted', async () => {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const client = new RawClient(port).send(
      'POST /generate HTTP/1.1\r\nHost: g\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n',
    );
    await client.until((text) => text.includes('100 Continue'));
    client.send('{}');
    const answer = await client.until(() => client.closed);
    expect(answer.text.match(/100 Continue/g)).toHaveLength(1);
    expect(answer.text).toContain('HTTP/1.1 200');
  });
});
