import {
  type Admission,
  type CounterCell,
  type EntryControl,
  type Metrics,
  type RequestRecord,
  type ResponseInterceptor,
  type SelectionOutcome,
  type WorkerEvents,
  type WorkerPoolView,
} from '@smg/plugin-api';
import { UPSTREAM_TRANSPORT, UpstreamModule, type UpstreamTransport } from '@smg/upstream';
import { Module, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Server } from 'node:http';
import { ConnectionBudget } from '../src/connection.budget';
import { RequestIds } from '../src/core/request-id';
import { DataPlaneServer } from '../src/data-plane.server';
import { createHardenedServer } from '../src/hardened-server';
import { InferenceController } from '../src/inference.controller';
import { type ProxyOptions } from '../src/proxy.options';
import { compileRoutes } from '../src/route-table';
import { RoutedWorkerInterceptor } from '../src/routed-worker.interceptor';
import { RouterMetrics } from '../src/router.metrics';
import { type RoutableWorker, type RunServices } from '../src/run.services';

/** Counters by `name{labels}`; durations are counted only. */
export class CountingMetrics implements Metrics {
  readonly values = new Map<string, number>();

  counter(spec: { name: string }) {
    return {
      cell: (...labels: string[]): CounterCell => ({
        inc: (by = 1) => {
          const key = `${spec.name}{${labels.join(',')}}`;
          this.values.set(key, (this.values.get(key) ?? 0) + by);
        },
      }),
      forget: () => undefined,
    };
  }

  gauge() {
    const cell = { set: () => undefined, inc: () => undefined, dec: () => undefined };
    return { cell: () => cell, forget: () => undefined };
  }

  histogram() {
    return { cell: () => ({ observe: () => undefined }), forget: () => undefined };
  }

  onCollect() {
    // Nothing is scraped.
  }

  /** Sum over every series whose key starts with `prefix`. */
  sum(prefix: string): number {
    let total = 0;
    for (const [key, value] of this.values) if (key.startsWith(prefix)) total += value;
    return total;
  }
}

/** A worker that keeps a diary. */
export class FakeWorker {
  readonly id: string;
  readonly workerType = 'regular';
  readonly connectionMode = 'http';
  readonly runtime = 'generic';
  readonly labels = new Map<string, string>();
  readonly priority = 50;
  readonly cost = 1;
  dpRank: number | undefined;
  readonly dpSize = undefined;
  status = 'ready';
  isReady = true;
  load = 0;
  apiKey: string | undefined;
  requestTimeoutMs = 5000;
  retry = {
    maxAttempts: 3,
    initialBackoffMs: 1,
    maxBackoffMs: 5,
    backoffMultiplier: 1,
    jitterFactor: 0,
  };
  readonly retryableStatusCodes = new Set([408, 429, 500, 502, 503, 504]);
  readonly outcomes: number[] = [];
  readonly failures: number[] = [];

  constructor(
    readonly baseUrl: string,
    readonly modelId = 'm',
  ) {
    this.id = baseUrl;
  }

  get url() {
    return this.dpRank === undefined ? this.baseUrl : `${this.baseUrl}@${this.dpRank}`;
  }

  get isAvailable() {
    return this.isReady;
  }

  beginRequest() {
    this.load += 1;
  }

  endRequest() {
    this.load -= 1;
  }

  recordOutcome(status: number) {
    this.outcomes.push(status);
  }

  recordTransportFailure(status: number) {
    this.failures.push(status);
  }
}

@Module({})
class NoEvents {
  static make(): DynamicModule {
    const events: WorkerEvents = { subscribe: () => () => undefined, emit: () => undefined };
    return {
      module: NoEvents,
      global: true,
      providers: [{ provide: 'smg:worker-events', useValue: events }],
      exports: ['smg:worker-events'],
    };
  }
}

export interface BenchOptions {
  readonly options?: Partial<ProxyOptions>;
  readonly keys?: readonly string[];
  readonly aliases?: Readonly<Record<string, string>>;
  readonly interceptors?: readonly ResponseInterceptor[];
  readonly openFileLimit?: number;
  readonly admission?: Admission;
  readonly entry?: EntryControl;
  readonly select?: (pool: WorkerPoolView) => SelectionOutcome;
}

/** A data plane on a loopback port, with fakes for everything but the upstream transport. */
export class Bench {
  readonly workers: FakeWorker[] = [];
  readonly records: RequestRecord[] = [];
  readonly metrics = new CountingMetrics();
  readonly faults: unknown[] = [];
  started = 0;
  server!: Server;
  plane!: DataPlaneServer;
  port = 0;
  private turn = 0;
  private closeModule: () => Promise<void> = () => Promise.resolve();

  static async open(given: BenchOptions = {}): Promise<Bench> {
    const bench = new Bench();
    await bench.build(given);
    return bench;
  }

  add(baseUrl: string): FakeWorker {
    const worker = new FakeWorker(baseUrl);
    this.workers.push(worker);
    return worker;
  }

  private async build(given: BenchOptions): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [NoEvents.make(), UpstreamModule.forRoot({ poolIdleTimeoutSecs: 3 })],
    }).compile();
    await module.init();
    this.closeModule = () => module.close();
    const transport = module.get<UpstreamTransport>(UPSTREAM_TRANSPORT, { strict: false });
    const interceptors = [new RoutedWorkerInterceptor(), ...(given.interceptors ?? [])];
    this.plane = new DataPlaneServer({
      services: this.services(given, transport),
      routes: compileRoutes(InferenceController.prototype),
      interceptors: () => interceptors,
      requestIds: new RequestIds(['x-request-id', 'x-correlation-id'], (n) =>
        new Uint8Array(n).fill(7),
      ),
      budget: new ConnectionBudget(
        given.openFileLimit ?? Infinity,
        () => transport.openConnections,
      ),
    });
    this.server = createHardenedServer(
      { answersExpectation: (request) => this.plane.owns(request), headersTimeoutMs: 1000 },
      (request, response) => {
        if (this.plane.handle(request, response)) return;
        response.writeHead(404, ['content-length', '0']);
        response.end();
      },
    );
    this.plane.watch(this.server);
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  private services(given: BenchOptions, transport: UpstreamTransport): RunServices {
    const { keys = [], aliases = {} } = given;
    const pool = (model: string): WorkerPoolView | undefined => {
      const canonical = aliases[model] ?? model;
      const workers = this.workers.filter(
        (w) => canonical === 'unknown' || w.modelId === canonical,
      );
      if (workers.length === 0) return undefined;
      const views = workers as unknown as RoutableWorker[];
      return { model: canonical, workers: views, available: () => views.filter((w) => w.isReady) };
    };
    return {
      options: {
        maxPayloadSize: 64 * 1024 * 1024,
        bodyIdleTimeoutSecs: 5,
        streamStallTimeoutSecs: 5,
        requestIdHeaders: ['x-request-id'],
        routingKeyHeaders: ['x-smg-routing-key'],
        hotLane: true,
        requireModel: false,
        retriesDisabled: false,
        retry: {
          maxAttempts: 2,
          initialBackoffMs: 1,
          maxBackoffMs: 1,
          backoffMultiplier: 1,
          jitterFactor: 0,
        },
        ...given.options,
      },
      directory: {
        epoch: 0,
        all: () => this.workers as unknown as RoutableWorker[],
        byId: () => undefined,
        byUrl: () => undefined,
        credentialOf: () => undefined,
        pool,
      },
      selector: {
        refusesRequests: false,
        refusalOf: () => undefined,
        select: (view, _context, avoid) => given.select?.(view) ?? this.roundRobin(view, avoid),
        eligible: (view) => view.available(),
        pick: (view, eligible, _context, avoid) =>
          this.roundRobin({ ...view, available: () => eligible }, avoid),
        leastBusy: (view) => this.roundRobin(view, undefined),
        readsBody: () => false,
      },
      transport,
      auth: {
        decide: (value) => {
          if (keys.length === 0) return { allowed: true, consumesAuthorization: false };
          const key = keys.find((one) => value === `Bearer ${one}`);
          return key !== undefined
            ? { allowed: true, consumesAuthorization: true, tenant: `auth:${key}` }
            : { allowed: false, message: 'Invalid API key' };
        },
      },
      admission: given.admission,
      entry: given.entry,
      observer: {
        inFlight: 0,
        finishedTotal: 0,
        started: () => {
          this.started += 1;
        },
        finished: (record) => {
          this.records.push(record);
        },
      },
      lifecycle: { isDraining: false },
      metrics: new RouterMetrics(this.metrics),
      random: () => 0.5,
      now: () => performance.now(),
      logFault: (_message, cause) => {
        this.faults.push(cause);
      },
    };
  }

  private roundRobin(pool: WorkerPoolView, avoid: unknown): SelectionOutcome {
    const all = pool.available();
    const others = all.filter((worker) => worker !== avoid);
    const from = others.length > 0 ? others : all;
    const worker = from[this.turn++ % from.length];
    return worker === undefined
      ? { kind: 'no_candidates', cause: 'unavailable' }
      : { kind: 'selected', worker };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await this.closeModule();
  }
}

/** What an engine does with the n-th request it sees (from 1). */
export type EngineScript = (socket: Socket, request: string, n: number) => void;

/** An engine that speaks raw bytes. */
export class RawEngine {
  readonly seen: string[] = [];
  readonly sockets = new Set<Socket>();
  url = '';
  private readonly server = createServer((socket) => {
    this.accept(socket);
  });

  private constructor(private readonly script: EngineScript) {}

  static async open(script: EngineScript): Promise<RawEngine> {
    const engine = new RawEngine(script);
    await new Promise<void>((resolve) => engine.server.listen(0, '127.0.0.1', resolve));
    engine.url = `http://127.0.0.1:${(engine.server.address() as AddressInfo).port}`;
    return engine;
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      const whole = text;
      text = '';
      this.seen.push(whole);
      this.script(socket, whole, this.seen.length);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export interface RawAnswer {
  /** Everything received. */
  readonly text: string;
  readonly status: number;
  readonly head: string;
  /** Body bytes as sent, chunk framing included. */
  readonly body: string;
}

/** Speaks raw bytes to the gateway. */
export class RawClient {
  text = '';
  closed = false;
  readonly socket: Socket;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('data', (data) => {
      this.text += data.toString('latin1');
    });
    this.socket.on('close', () => {
      this.closed = true;
    });
  }

  send(bytes: string): this {
    this.socket.write(bytes, 'latin1');
    return this;
  }

  /** Waits until `done` holds of the text, or the connection closes. */
  async until(done: (text: string) => boolean, ms = 4000): Promise<RawAnswer> {
    const end = Date.now() + ms;
    while (!done(this.text) && !this.closed) {
      if (Date.now() > end)
        throw new Error(`waited in vain; got ${JSON.stringify(this.text.slice(0, 500))}`);
      await tick(2);
    }
    const at = this.text.indexOf('\r\n\r\n');
    return {
      text: this.text,
      status: Number(this.text.slice(9, 12)),
      head: this.text.slice(0, at),
      body: at === -1 ? '' : this.text.slice(at + 4),
    };
  }
}

export const tick = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A complete POST, connection closed after the answer. */
export function post(path: string, body: string, headers = '', connection = 'close'): string {
  return `POST ${path} HTTP/1.1\r\nHost: g\r\nConnection: ${connection}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Sends one request and waits for the end of the connection. */
export async function ask(bench: Bench, bytes: string): Promise<RawAnswer> {
  const client = new RawClient(bench.port).send(bytes);
  return client.until(() => client.closed);
}

export async function waitFor(holds: () => boolean, ms = 3000): Promise<void> {
  const end = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > end) throw new Error('waited in vain');
    await tick(2);
  }
}

export const json = (status: number, body: string, extra = ''): string =>
  `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\n${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

export const SSE_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

export const chunk = (text: string): string =>
  `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Body text without chunk framing. */
export function unchunk(body: string): { text: string; isComplete: boolean } {
  let at = 0;
  let text = '';
  for (;;) {
    const eol = body.indexOf('\r\n', at);
    if (eol === -1) return { text, isComplete: false };
    const size = Number.parseInt(body.slice(at, eol), 16);
    if (Number.isNaN(size)) return { text, isComplete: false };
    if (size === 0) return { text, isComplete: true };
    text += body.slice(eol + 2, eol + 2 + size);
    at = eol + 2 + size + 2;
  }
}
