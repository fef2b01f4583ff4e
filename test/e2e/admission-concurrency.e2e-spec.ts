import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { DataPlane, Public } from '@smg/plugin-api';
import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send, type Answer } from '../support/http';
import { until } from '../support/until';
import { describeLanes } from './support/lanes';

const CHAT = { model: 'mock-model', messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';

let finishSlow: () => void = () => undefined;

@Controller()
class SlowController {
  @DataPlane()
  @Get('v1/slow')
  slow(): Promise<string> {
    return new Promise((resolve) => {
      finishSlow = () => {
        resolve('done');
      };
    });
  }

  @Public()
  @Get('v1/open')
  open(): string {
    return 'open';
  }
}

@Module({ controllers: [SlowController] })
class SlowModule {}

describeLanes('requests in flight', ({ hotLane }) => {
  let running: RunningGateway | undefined;
  let engine: MockEngine;
  const sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await running?.close();
    running = undefined;
    await engine.stop();
  });

  async function start(
    admission: NonNullable<PartialGatewayConfig['admission']>,
    options: MockEngineOptions = {},
    config: PartialGatewayConfig = {},
  ): Promise<void> {
    engine = await new MockEngine(options).start();
    running = await startGateway(
      { ...config, admission, requests: { hotLane, ...config.requests } },
      { engines: [engine], plugins: [SlowModule] },
    );
  }

  const url = (): string => `${running?.url ?? ''}${PATH}`;
  const chat = (extra: object = {}): Promise<Answer> =>
    send(url(), { body: { ...CHAT, ...extra } });
  const served = (): number => engine.counters.of(PATH);
  const inFlight = (count: number): Promise<void> =>
    until(`${count} requests at the engine`, () => served() >= count);
  const scrape = async (text: string): Promise<boolean> =>
    ((await running?.metrics()) ?? '').includes(text);
  const waiting = (count: number): Promise<void> =>
    until(`${count} wait`, () => scrape(`smg_admission_queue_depth ${count}\n`));
  const nothingHeld = (): Promise<void> =>
    until(
      'nothing is held',
      async () =>
        (await scrape('smg_admission_inflight 0\n')) &&
        (await scrape('smg_admission_queue_depth 0\n')),
    );
  const SLOW = { latencyMs: 400 };

  it('[G73] no limit: everybody is served', async () => {
    await start({ maxConcurrentRequests: 0 }, { latencyMs: 50 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(await running?.metrics()).not.toContain('smg_admission_');
  });

  it('[G73] a limit of 2 with a queue of 5: some are served, the rest told why not', async () => {
    await start(
      { maxConcurrentRequests: 2, queueSize: 5, queueTimeoutSecs: 1 },
      { latencyMs: 600 },
    );
    const answers = await Promise.all(Array.from({ length: 10 }, () => chat()));
    const by = (status: number): Answer[] => answers.filter((answer) => answer.status === status);
    expect(by(429)).toHaveLength(3);
    expect(by(200).length).toBeGreaterThanOrEqual(4);
    expect(by(503).length).toBeGreaterThanOrEqual(1);
    expect(by(200).length + by(429).length + by(503).length).toBe(10);
    for (const answer of by(503)) {
      expect(answer.headers['x-smg-error-code']).toBe('admission_queue_timeout');
      expect(answer.headers['retry-after']).toBe('2');
    }
    await nothingHeld();
    const page = (await running?.metrics()) ?? '';
    expect(page).toContain('smg_admission_queue_rejected_total{reason="full"} 3\n');
    expect(page).toContain(
      `smg_admission_queue_rejected_total{reason="timeout"} ${by(503).length}\n`,
    );
    expect(page).toContain(`smg_http_rate_limit_total{result="allowed"} ${by(200).length}\n`);
  });

  it('[G74] without a queue the next is refused at once', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 }, SLOW);
    const first = chat();
    await inFlight(1);
    const refused = await chat();
    expect(refused.status).toBe(429);
    expect(refused.headers['x-smg-error-code']).toBe('admission_queue_full');
    expect(refused.headers['retry-after']).toBe('2');
    expect(refused.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(refused.json['error']).toMatchObject({ type: 'Too Many Requests', param: null });
    expect((await first).status).toBe(200);
    expect((await chat()).status).toBe(200);
    expect(served()).toBe(2);
  });

  it('probes, models, information and administration are not limited', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 }, SLOW);
    const first = chat();
    await inFlight(1);
    for (const path of ['/health', '/readiness', '/v1/models', '/get_server_info', '/workers']) {
      expect((await send(`${running?.url ?? ''}${path}`)).status).toBe(200);
    }
    expect((await first).status).toBe(200);
  });

  it('who waits is served in order of arrival, and is asked for its body only then', async () => {
    await start({ maxConcurrentRequests: 1 }, SLOW);
    const first = chat();
    await inFlight(1);
    const socket = connect(running?.port ?? 0, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('data', (data: Buffer) => (text += data.toString()));
    const body = JSON.stringify({ ...CHAT, user: 'second' });
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await waiting(1);
    const third = chat({ user: 'third' });
    await waiting(2);
    expect(text).toBe('');
    expect((await first).status).toBe(200);
    await until('the body is wanted', () => text.includes('100 Continue'));
    socket.write(body);
    await until('the second is answered', () => text.includes('200 OK'));
    expect((await third).status).toBe(200);
    const users = engine.requests
      .filter(({ route }) => route === PATH)
      .map(({ body: sent }) => (JSON.parse(sent.toString()) as { user?: string }).user);
    expect(users).toEqual([undefined, 'second', 'third']);
    await nothingHeld();
  });

  it('who is refused sees neither an invitation nor loses its answer', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 }, SLOW);
    const first = chat();
    await inFlight(1);
    const large = await chat({ padding: 'x'.repeat(3_000_000) });
    expect(large.status).toBe(429);
    await first;
    await nothingHeld();
  });

  it('a client that leaves the queue leaves its place', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 1 }, SLOW);
    const first = chat();
    await inFlight(1);
    const leaver = connect(running?.port ?? 0, '127.0.0.1');
    sockets.push(leaver);
    const body = JSON.stringify(CHAT);
    leaver.write(
      `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await waiting(1);
    expect((await chat()).status).toBe(429);
    leaver.destroy();
    await waiting(0);
    const next = chat();
    await waiting(1);
    expect((await first).status).toBe(200);
    expect((await next).status).toBe(200);
    expect(served()).toBe(2);
    await nothingHeld();
  });

  it.each(['before the head', 'inside the stream'])(
    'a client that leaves %s gives its permit back',
    async (when) => {
      const isLate = when === 'inside the stream';
      await start(
        { maxConcurrentRequests: 1, queueSize: 0 },
        isLate ? { tokenLatencyMs: 200, tokens: 50 } : { latencyMs: 5000 },
      );
      if (isLate) {
        const stream = await open(url(), { body: { ...CHAT, stream: true, max_tokens: 50 } });
        expect((await chat()).status).toBe(429);
        stream.leave();
      } else {
        const socket = connect(running?.port ?? 0, '127.0.0.1');
        sockets.push(socket);
        const body = JSON.stringify(CHAT);
        socket.write(
          `POST ${PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        await inFlight(1);
        socket.destroy();
      }
      await nothingHeld();
    },
  );

  it('a permit is held until the last byte of the body', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 }, { tokenLatencyMs: 60 });
    const stream = await open(url(), { body: { ...CHAT, stream: true, max_tokens: 8 } });
    expect((await chat()).status).toBe(429);
    const over = new Promise((resolve) => stream.incoming.on('end', resolve));
    stream.incoming.resume();
    await over;
    await nothingHeld();
    expect((await chat()).status).toBe(200);
  });

  it('errors, bad bodies and dead engines hold nothing', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 }, {}, { retry: { disabled: true } });
    expect((await send(url(), { body: '{"model":' })).status).toBe(400);
    expect((await chat({ model: 'nobody' })).status).toBe(404);
    expect((await send(url(), { method: 'GET' })).status).toBe(405);
    await engine.stop();
    expect((await chat()).status).toBe(502);
    await nothingHeld();
  });

  it('one request after another never meets a permit of its own', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 0 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 40; i += 1) {
      const sending = i % 2 === 0 ? { body: CHAT } : { body: CHAT, agent };
      expect((await send(url(), sending)).status).toBe(200);
    }
    agent.destroy();
  });

  it('routes that Nest answers count as well, those of other planes do not', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 1 }, {}, { auth: { apiKey: 'k' } });
    const get = (path: string): Promise<Answer> =>
      send(`${running?.url ?? ''}${path}`, { headers: { authorization: 'Bearer k' } });
    const first = get('/v1/slow');
    await until('one is inside', () => scrape('smg_admission_inflight 1\n'));
    const second = get('/v1/slow');
    await waiting(1);
    const refused = await get('/v1/slow');
    expect(refused.status).toBe(429);
    expect(refused.headers['x-smg-error-code']).toBe('admission_queue_full');
    expect(refused.headers['retry-after']).toBe('2');
    expect((await get('/v1/open')).status).toBe(200);
    expect((await send(`${running?.url ?? ''}/v1/slow`)).status).toBe(401);
    finishSlow();
    expect((await first).text).toBe('done');
    await waiting(0);
    await until('the second is inside', () => scrape('smg_admission_inflight 1\n'));
    finishSlow();
    expect((await second).text).toBe('done');
    await nothingHeld();
  });

  it('permits come back with time where a rate says so', async () => {
    await start(
      { maxConcurrentRequests: 1, queueSize: 5, refillPerSecond: 10 },
      { latencyMs: 1500 },
    );
    const all = Promise.all([chat(), chat(), chat()]);
    // Three at once, though one at a time is allowed: two permits were refilled.
    await inFlight(3);
    expect((await all).map(({ status }) => status)).toEqual([200, 200, 200]);
    await nothingHeld();
  });

  it('a refused credential takes no permit, and none waits for one', async () => {
    await start({ maxConcurrentRequests: 1, queueSize: 1 }, SLOW, { auth: { apiKey: 'k' } });
    const headers = { authorization: 'Bearer k' };
    const first = send(url(), { body: CHAT, headers });
    await inFlight(1);
    expect((await chat()).status).toBe(401);
    expect((await first).status).toBe(200);
  });

  it('who still waits when the process ends is told so', async () => {
    await start(
      { maxConcurrentRequests: 1 },
      { latencyMs: 10_000 },
      {
        requests: { hotLane, shutdownGracePeriodSecs: 2 },
      },
    );
    const first = chat().catch(() => undefined);
    await inFlight(1);
    const second = chat();
    await waiting(1);
    const ended = running?.gateway.shutdown();
    const answer = await second;
    expect(answer.status).toBe(503);
    expect(answer.headers['x-smg-error-code']).toBe('service_unavailable');
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.headers.connection).toBe('close');
    await ended;
    await first;
  });

  it('who waits is served while the process drains', async () => {
    await start({ maxConcurrentRequests: 1 }, SLOW, {
      requests: { hotLane, shutdownGracePeriodSecs: 4 },
    });
    const first = chat();
    await inFlight(1);
    const second = chat();
    await waiting(1);
    const ended = running?.gateway.shutdown();
    expect((await first).status).toBe(200);
    expect((await second).status).toBe(200);
    await ended;
  });
});
