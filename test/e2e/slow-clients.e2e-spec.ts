import { MockEngine } from '@smg/testing';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';
import { statusOf } from './support/raw-client';
import { slowHead, trickle } from './support/trickle';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

describeLanes('slow clients', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      { requests: { hotLane, bodyIdleTimeoutSecs: 1 }, health: { checksDisabled: true } },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  it('[#81] [R34] a stalled upload is 408 request_body_stalled, and no fault of a worker', async () => {
    const before = engine.counters.received;
    const socket = trickle(
      gateway.port,
      `${slowHead('Content-Length: 100')}\r\n\r\n{"model"`,
      60_000,
    );
    const { text, afterMs } = await socket.done;
    expect(statusOf(text)).toBe(408);
    expect(text).toMatch(/x-smg-error-code: request_body_stalled/i);
    expect(afterMs).toBeGreaterThanOrEqual(950);
    expect(engine.counters.received).toBe(before);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_cb_outcomes_total', { outcome: 'failure' })).toBe(0);
  });

  it('[R34] a slow but steady upload is not cut by the idle clock', async () => {
    const body = JSON.stringify(chat());
    const socket = connect(gateway.port, '127.0.0.1');
    const answer = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (data) => (text += data.toString('latin1')));
      socket.on('close', () => {
        resolve(text);
      });
    });
    socket.write(`${slowHead(`Content-Length: ${body.length}`, 'Connection: close')}\r\n\r\n`);
    // Longer than the idle time in total, never in one piece.
    for (let at = 0; at < body.length; at += 16) {
      socket.write(body.slice(at, at + 16));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(statusOf(await answer)).toBe(200);
  });

  it('[R34] a stalled body of a control route is 408 and closed', async () => {
    const message = slowHead('Content-Length: 100').replace(CHAT, '/workers');
    const socket = trickle(gateway.port, `${message}\r\n\r\n{"url"`, 60_000);
    const { text, afterMs } = await socket.done;
    expect(statusOf(text)).toBe(408);
    expect(afterMs).toBeGreaterThanOrEqual(950);
  });

  it('[R34] 300 half requests on each plane are cut, and normal traffic does not feel them', async () => {
    const probes = [CHAT, '/workers'].flatMap((path) =>
      Array.from({ length: 300 }, () => {
        const head = slowHead('Content-Length: 1000').replace(CHAT, path);
        return trickle(gateway.port, `${head}\r\n\r\n{"model"`, 60_000);
      }),
    );
    try {
      const times: number[] = [];
      for (let at = 0; at < 200; at += 1) {
        const startedAt = performance.now();
        expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
        times.push(performance.now() - startedAt);
      }
      times.sort((a, b) => a - b);
      // The 600 clients are in this very process: while it opens and closes them, nobody else is served.
      expect(times[Math.floor(times.length * 0.95)]).toBeLessThan(250);
      for (const { text, afterMs } of await Promise.all(probes.map(({ done }) => done))) {
        expect(statusOf(text)).toBe(408);
        expect(afterMs).toBeLessThan(6_000);
      }
      await until('none is left', async () => {
        const page = await gateway.metrics();
        return sample(page, 'smg_http_connections_active') === 0;
      });
    } finally {
      for (const { stop } of probes) stop();
    }
  });

  it('[#81] an aborted upload reaches no engine, and no worker is blamed', async () => {
    const before = engine.counters.received;
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${slowHead('Content-Length: 100')}\r\n\r\n{"model"`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(engine.counters.received).toBe(before);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_cb_outcomes_total', { outcome: 'failure' })).toBe(0);
    expect(sample(page, 'smg_http_connections_active')).toBe(0);
  });
});

describe('strangers', () => {
  it('[R34] without a key the body of a control route is neither awaited nor kept', async () => {
    const gateway = await startGateway({ auth: { apiKey: 'k' } });
    try {
      const message = slowHead('Content-Length: 1000000').replace(CHAT, '/workers');
      const socket = trickle(gateway.port, `${message}\r\n\r\n{"url"`, 100);
      const { text, afterMs } = await socket.done;
      expect(statusOf(text)).toBe(401);
      // Read on for a moment, so that the answer arrives, then cut.
      expect(afterMs).toBeLessThan(4_000);
    } finally {
      await gateway.close();
    }
  });

  it('a small refused body does not cost the connection', async () => {
    const gateway = await startGateway({ auth: { apiKey: 'k' } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const ports = new Set<number>();
      agent.on('free', (socket: Socket) => ports.add(socket.localPort ?? 0));
      for (let at = 0; at < 20; at += 1) {
        const answer = await send(`${gateway.url}/workers`, { body: { url: 'http://a:1' }, agent });
        expect(answer.status).toBe(401);
      }
      expect(ports.size).toBe(1);
    } finally {
      agent.destroy();
      await gateway.close();
    }
  });
});
