import { Module } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { PinoLogger } from 'nestjs-pino';
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  LIFECYCLE,
  METRICS,
  type Metrics,
  READINESS_CHECK,
  REQUEST_OBSERVER,
  type RequestObserver,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type WorkerEventListener,
} from '@smg/plugin-api';
import { GatewayLog } from './gateway-log';
import { HealthListenerRunner } from './health-listener.runner';
import { MetricsServer } from './metrics.server';
import { ObservabilityModule } from './observability.module';
import { type ObservabilityOptions } from './observability.options';
import { ProcessLifecycle } from './core/process-lifecycle';

class Fleet {
  workers: { status: string }[] = [];
  private readonly listeners = new Set<WorkerEventListener>();
  all = () => this.workers;
  subscribe = (listener: WorkerEventListener) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  get subscribers(): number {
    return this.listeners.size;
  }
  become(...statuses: string[]): void {
    this.workers = statuses.map((status) => ({ status }));
    for (const listener of this.listeners) listener({ kind: 'weights_changed', baseUrl: 'x' });
  }
}

const fleet = { current: new Fleet() };

@Module({
  providers: [
    { provide: WORKER_DIRECTORY, useFactory: () => fleet.current },
    { provide: WORKER_EVENTS, useFactory: () => fleet.current },
    ...READINESS_CHECK.provide({
      label: 'pair',
      useFactory: () => ({
        name: 'pair',
        check: () => (fleet.current.workers.length > 3 ? 'no pair' : undefined),
      }),
    }),
  ],
  exports: [WORKER_DIRECTORY, WORKER_EVENTS],
})
class FleetModule {}

const GlobalFleet = { module: FleetModule, global: true };
const open: NestFastifyApplication[] = [];
const lines: string[] = [];

async function boot(options: ObservabilityOptions = {}): Promise<NestFastifyApplication> {
  fleet.current = new Fleet();
  lines.length = 0;
  const log = new GatewayLog({ level: 'debug', destination: { write: (l) => void lines.push(l) } });
  const module = await Test.createTestingModule({
    imports: [GlobalFleet, ObservabilityModule.forRoot({ log, ...options })],
  })
    .setLogger(log.logger)
    .compile();
  const app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  open.push(app);
  await app.init();
  return app;
}

afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

const LOOPBACK = { prometheusPort: 0, prometheusHost: '127.0.0.1' };

const scrape = (app: NestFastifyApplication, path = '/metrics', init?: RequestInit) =>
  fetch(`http://127.0.0.1:${String(app.get(MetricsServer).address?.port)}${path}`, init);

describe('probes', () => {
  it('answers liveness and health with OK, always', async () => {
    const app = await boot();
    app.get(ProcessLifecycle).beginDraining();
    for (const url of ['/liveness', '/health']) {
      const answer = await app.inject({ method: 'GET', url });
      expect([answer.statusCode, answer.payload]).toEqual([200, 'OK']);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    }
  });

  it('follows the workers, the extensions and the drain', async () => {
    const app = await boot();
    const probe = async () => {
      const answer = await app.inject({ method: 'GET', url: '/readiness' });
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      return [answer.statusCode, answer.payload];
    };
    const notReady = (reason: string) => [503, `{"status":"not ready","reason":"${reason}"}`];

    expect(await probe()).toEqual(notReady('insufficient healthy workers'));
    fleet.current.become('ready', 'pending');
    expect(await probe()).toEqual([
      200,
      '{"status":"ready","healthy_workers":1,"total_workers":2}',
    ]);
    fleet.current.become('ready', 'ready', 'ready', 'ready');
    expect(await probe()).toEqual(notReady('no pair'));
    fleet.current.become('ready');
    app.get<ProcessLifecycle>(LIFECYCLE).beginDraining();
    expect(await probe()).toEqual(notReady('draining'));
    expect(lines.join('')).not.toMatch(/"level":"(warn|error)"/);
  });

  it('leaves no subscription behind', async () => {
    const app = await boot();
    expect(fleet.current.subscribers).toBe(1);
    await app.close();
    expect(fleet.current.subscribers).toBe(0);
  });

  it('answers on the health port too, and clearly refuses a taken one', async () => {
    const app = await boot({ healthCheckPort: 0, healthCheckHost: '127.0.0.1' });
    const port = String(app.get(HealthListenerRunner).port);
    const ask = async (path: string, method = 'GET') => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      return [answer.status, await answer.text()];
    };
    expect(await ask('/liveness')).toEqual([200, 'OK']);
    expect(await ask('/health?x')).toEqual([200, 'OK']);
    expect((await ask('/readiness'))[0]).toBe(503);
    fleet.current.become('ready');
    expect(await ask('/readiness')).toEqual([
      200,
      '{"status":"ready","healthy_workers":1,"total_workers":1}',
    ]);
    expect(await ask('/v1/models')).toEqual([404, '']);
    expect(await ask('/health', 'POST')).toEqual([405, '']);
    await expect(
      boot({ healthCheckPort: Number(port), healthCheckHost: '127.0.0.1' }),
    ).rejects.toThrow(
      `--health-check-port: cannot listen on 127.0.0.1 port ${port}: the address is already in use (EADDRINUSE)`,
    );
  });
});

describe('metrics port', () => {
  it("serves our series beside Node's, and nothing else", async () => {
    const app = await boot(LOOPBACK);
    const observer = app.get<RequestObserver>(REQUEST_OBSERVER);
    observer.started();
    observer.finished({
      method: 'POST',
      route: '/generate',
      url: '/generate',
      status: 200,
      durationMs: 3,
      requestId: 'r',
    });
    const page = await scrape(app);
    const text = await page.text();
    expect(page.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('smg_http_requests_total{method="POST",path="/generate"} 1\n');
    expect(text).toContain('\nprocess_cpu_seconds_total ');
    expect(text).toContain('smg_tokio_event_loop_delay_seconds{quantile="0.99"} ');
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) |[a-z0-9_]+(\{[^}]*\})? [-+\dA-Za-z.]+$|$)/);
    }
    expect(lines.filter((line) => line.includes('smg::response'))).toHaveLength(1);

    const elsewhere = await scrape(app, '/other');
    expect([elsewhere.status, await elsewhere.text()]).toEqual([404, '']);
    const wrongMethod = await scrape(app, '/metrics', { method: 'POST' });
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('can run twice in one process', async () => {
    await boot(LOOPBACK);
    expect((await scrape(await boot(LOOPBACK))).status).toBe(200);
  });

  it('stops the start when the port is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as { port: number };
    try {
      await expect(boot({ prometheusPort: port, prometheusHost: '127.0.0.1' })).rejects.toThrow(
        `--prometheus-port: cannot listen on 127.0.0.1 port ${String(port)}: the address is already in use (EADDRINUSE)`,
      );
    } finally {
      holder.close();
    }
  });

  it('gives the loop its turn while 10,000 histograms are scraped', async () => {
    const app = await boot(LOOPBACK);
    const family = app
      .get<Metrics>(METRICS)
      .histogram({ name: 'smg_big_seconds', help: 'x', labels: ['worker'] });
    for (let index = 0; index < 10_000; index++) {
      family.cell(`http://10.0.0.1:${String(index)}`).observe(index);
    }
    let turns = 0;
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const ticker = setInterval(() => turns++, 1);
    const bytes = (await (await scrape(app)).arrayBuffer()).byteLength;
    clearInterval(ticker);
    delay.disable();
    expect(bytes).toBeGreaterThan(10_000_000);
    // A page rendered in one piece would leave the ticker no turn at all. The 20 ms bar is a matter
    // for a quiet machine; here the bound only has to catch a page made in one go.
    expect(turns).toBeGreaterThan(20);
    expect(delay.max / 1e6).toBeLessThan(200);
  });
});

describe('nestjs-pino', () => {
  it('provides its logger and applies no middleware', async () => {
    const app = await boot();
    const logger = await app.resolve(PinoLogger);
    expect(typeof logger.info).toBe('function');
    let decorated: boolean | undefined;
    app
      .getHttpAdapter()
      .getInstance()
      .addHook('onRequest', (request, _reply, done) => {
        decorated = 'allLogs' in request.raw || 'log' in request.raw;
        done();
      });
    await app.inject({ method: 'GET', url: '/health' });
    expect(decorated).toBe(false);
  });
});
