import { MockEngine } from '@smg/testing';
import { connect, type Socket } from 'node:net';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';
import { statusOf } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

/** A connection that sends `head` and then a byte every `everyMs`; resolves when it is cut. */
function trickle(
  port: number,
  head: string,
  everyMs: number,
): { readonly done: Promise<{ text: string; afterMs: number }>; readonly stop: () => void } {
  const startedAt = performance.now();
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(head);
  const timer = setInterval(() => socket.write('x'), everyMs);
  const done = new Promise<{ text: string; afterMs: number }>((resolve) => {
    let text = '';
    socket.on('data', (data) => (text += data.toString('latin1')));
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ text, afterMs: performance.now() - startedAt });
    });
  });
  return { done, stop: () => socket.destroy() };
}

const head = (...lines: readonly string[]) =>
  [`POST ${CHAT} HTTP/1.1`, 'Host: g', 'Content-Type: application/json', ...lines].join('\r\n');

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
    const socket = trickle(gateway.port, `${head('Content-Length: 100')}\r\n\r\n{"model"`, 60_000);
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
    socket.write(`${head(`Content-Length: ${body.length}`, 'Connection: close')}\r\n\r\n`);
    // Longer than the idle time in total, never in one piece.
    for (let at = 0; at < body.length; at += 16) {
      socket.write(body.slice(at, at + 16));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(statusOf(await answer)).toBe(200);
  });

  it('[#81] an aborted upload reaches no engine, and no worker is blamed', async () => {
    const before = engine.counters.received;
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${head('Content-Length: 100')}\r\n\r\n{"model"`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(engine.counters.received).toBe(before);
    const page = await gateway.metrics();
    expect(sample(page, 'smg_worker_cb_outcomes_total', { outcome: 'failure' })).toBe(0);
    expect(sample(page, 'smg_http_connections_active')).toBe(0);
  });
});

describe('slow heads', () => {
  it('[R34] [slow clients] 300 trickled heads are cut after 10 s, and meanwhile requests are served', async () => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway({ health: { checksDisabled: true } }, { engines: [engine] });
    const probes = Array.from({ length: 300 }, () =>
      trickle(gateway.port, `${head()}\r\nX-Slow: `, 1_000),
    );
    try {
      const times: number[] = [];
      const until = performance.now() + 2_000;
      while (performance.now() < until) {
        const startedAt = performance.now();
        expect((await send(`${gateway.url}${CHAT}`, { body: chat() })).status).toBe(200);
        times.push(performance.now() - startedAt);
      }
      times.sort((a, b) => a - b);
      expect(times[Math.floor(times.length * 0.95)]).toBeLessThan(250);
      const cut = await Promise.all(probes.map(({ done }) => done));
      for (const { text, afterMs } of cut) {
        expect([0, 408]).toContain(statusOf(text));
        expect(afterMs).toBeGreaterThan(9_000);
        expect(afterMs).toBeLessThan(16_000);
      }
    } finally {
      for (const { stop } of probes) stop();
      await gateway.close();
      await engine.stop();
    }
  }, 25_000);
});
