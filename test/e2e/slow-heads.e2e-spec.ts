import { MockEngine } from '@smg/testing';
import { startGateway } from '../support/gateway';
import { send } from '../support/http';
import { freePorts } from '../support/program';
import { chat } from './support/bodies';
import { statusOf } from './support/raw-client';
import { slowHead, trickle } from './support/trickle';

const CHAT = '/v1/chat/completions';

describe('slow heads', () => {
  it('[R34] [slow clients] 300 trickled heads are cut after 10 s, and meanwhile requests are served', async () => {
    const engine = new MockEngine();
    await engine.start();
    const gateway = await startGateway({ health: { checksDisabled: true } }, { engines: [engine] });
    const probes = Array.from({ length: 300 }, () =>
      trickle(gateway.port, `${slowHead()}\r\nX-Slow: `, 1_000),
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

  it('[slow clients] trickled heads are cut on the ports of probes and metrics too', async () => {
    const [healthCheckPort = 0] = await freePorts(1);
    const gateway = await startGateway({ listener: { healthCheckPort } });
    const probes = [healthCheckPort, gateway.gateway.metricsPort ?? 0].map((port) =>
      trickle(port, 'GET /metrics HTTP/1.1\r\nX-Slow: ', 1_000),
    );
    try {
      for (const { done } of probes) expect((await done).afterMs).toBeLessThan(16_000);
    } finally {
      for (const { stop } of probes) stop();
      await gateway.close();
    }
  }, 25_000);
});
