import { MockEngine } from '@smg/testing';
import { Agent, type Server } from 'node:http';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { chat, chatEvent, chatStream, DONE } from './support/bodies';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

/** Runs `test` in front of `count` engines; everything is closed afterwards. */
async function withFleet(
  count: number,
  config: PartialGatewayConfig,
  test: (gateway: RunningGateway, engines: readonly MockEngine[]) => Promise<void>,
): Promise<void> {
  const engines = Array.from({ length: count }, () => new MockEngine());
  for (const engine of engines) await engine.start();
  let gateway: RunningGateway | undefined;
  try {
    gateway = await startGateway(
      {
        ...config,
        health: { checksDisabled: true },
        routing: { policy: 'round_robin', ...config.routing },
        retry: { initialBackoffMs: 1, maxBackoffMs: 5, ...config.retry },
      },
      { engines },
    );
    await test(gateway, engines);
  } finally {
    await gateway?.close();
    for (const engine of engines) await engine.stop();
  }
}

const ask = (gateway: RunningGateway, body: object = chat()) =>
  send(`${gateway.url}${CHAT}`, { body });

const calls = (engines: readonly MockEngine[]) =>
  engines.reduce((sum, { counters }) => sum + counters.of(CHAT), 0);

describe('retries', () => {
  it('[G73] without a limit 20 parallel requests are all 200', async () => {
    await withFleet(2, {}, async (gateway) => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gateway)));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    });
  });

  it.each([400, 401, 404, 422, 501])('a %i of an engine is not retried', async (status) => {
    await withFleet(2, {}, async (gateway, engines) => {
      for (const engine of engines) engine.behave({ route: CHAT, status });
      expect((await ask(gateway)).status).toBe(status);
      expect(calls(engines)).toBe(1);
    });
  });

  it.each(['reset', 'fin'] as const)(
    '[#36] an engine accepts, then %s: at most one extra generation, at another engine',
    async (how) => {
      await withFleet(2, {}, async (gateway, engines) => {
        // Both connections are warm: the worst case for an invisible resend.
        for (let at = 0; at < 4; at += 1) await ask(gateway);
        for (const body of [chat(), chatStream()]) {
          const before = calls(engines);
          engines[0]?.behave({ route: CHAT, times: 1, delayMs: 5, cut: { how, at: 'request' } });
          const answers = [await ask(gateway, body), await ask(gateway, body)];
          expect(answers.map(({ status }) => status)).toEqual([200, 200]);
          expect(calls(engines) - before).toBeLessThanOrEqual(3);
        }
      });
    },
  );

  it('[decisions 4] after a transport failure the next attempt goes to another engine', async () => {
    await withFleet(2, { retry: { maxAttempts: 2 } }, async (gateway, engines) => {
      engines[0]?.behave({ route: CHAT, cut: { how: 'reset', at: 'request' } });
      for (let at = 0; at < 8; at += 1) {
        const answer = await ask(gateway);
        expect(answer.status).toBe(200);
        expect(answer.headers['x-smg-routed-worker-id']).toBe(engines[1]?.url);
      }
    });
  });

  it.each<[string, Parameters<MockEngine['behave']>[0], object]>([
    [
      'one frame of a stream',
      { chunks: [chatEvent('a'), chatEvent('b'), DONE], cut: { how: 'reset', at: 100 } },
      chatStream(),
    ],
    [
      'the head of a stream',
      { chunks: [chatEvent('a')], cut: { how: 'reset', at: 'head' } },
      chatStream(),
    ],
    ['part of a buffered answer', { body: { a: 'b' }, cut: { how: 'fin', at: 3 } }, chat()],
    [
      'the head of a buffered answer',
      { body: { a: 1 }, cut: { how: 'reset', at: 'head' } },
      chat(),
    ],
  ])(
    '[reliability] nothing is sent twice once a response byte arrived: %s, 50 times',
    async (_what, behaviour, body) => {
      await withFleet(2, { breaker: { disabled: true } }, async (gateway, engines) => {
        for (const engine of engines) engine.behave({ route: CHAT, ...behaviour });
        for (let at = 0; at < 50; at += 1) await ask(gateway, body);
        expect(calls(engines)).toBe(50);
      });
    },
  );

  it('[reliability] a dead pooled socket costs at most one resend', async () => {
    await withFleet(1, { retry: { disabled: true } }, async (gateway, engines) => {
      const [engine] = engines;
      await ask(gateway);
      // Every connection now takes the request and dies: one resend, then the error.
      engine?.behave({ route: CHAT, cut: { how: 'reset', at: 'request', delayMs: 0 } });
      const before = calls(engines);
      const answer = await ask(gateway);
      expect(answer.status).toBe(502);
      expect(calls(engines) - before).toBeLessThanOrEqual(2);
      expect(
        sample(await gateway.metrics(), 'smg_router_upstream_send_retries_total'),
      ).toBeLessThanOrEqual(1);
    });
  });
});

describe('idle connections', () => {
  it('[#76] [reliability] an engine closes idle sockets at the wrong moment: 0 errors in 1,000 tries', async () => {
    const keepAliveMs = 15;
    const engine = new MockEngine({ keepAliveMs, keepRequests: 0 });
    await engine.start();
    const gateway = await startGateway(
      { health: { checksDisabled: true }, retry: { disabled: true } },
      { engines: [engine] },
    );
    const agent = new Agent({ keepAlive: true });
    try {
      let failed = 0;
      const lane = async (index: number) => {
        for (let at = 0; at < 50; at += 1) {
          const answer = await send(`${gateway.url}${CHAT}`, { body: chat(), agent });
          if (answer.status !== 200) failed += 1;
          // Around the idle time, a little before and a little after.
          const pause = keepAliveMs - 4 + ((at + index) % 9);
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, index) => lane(index)));
      expect(failed).toBe(0);
    } finally {
      agent.destroy();
      await gateway.close();
      await engine.stop();
    }
  });

  it.each(['fin', 'reset'] as const)(
    '[#76] a wave, all idle sockets closed by %s, another wave: 0 errors',
    async (how) => {
      await withFleet(1, { retry: { disabled: true } }, async (gateway, engines) => {
        const wave = async () => {
          const answers = await Promise.all(Array.from({ length: 40 }, () => ask(gateway)));
          return answers.filter(({ status }) => status !== 200).length;
        };
        expect(await wave()).toBe(0);
        for (let at = 0; at < 10; at += 1) {
          engines[0]?.dropConnections(how);
          expect(await wave()).toBe(0);
        }
      });
    },
  );

  it('[#77] a client connection outlives the idle pools of clients: the keep-alive is over 75 s', async () => {
    await withFleet(1, {}, async (gateway) => {
      const server: Server = gateway.gateway.app.getHttpServer();
      expect(server.keepAliveTimeout).toBeGreaterThan(75_000);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        const ports = new Set<number>();
        agent.on('free', (socket: { localPort?: number }) => ports.add(socket.localPort ?? 0));
        await send(`${gateway.url}${CHAT}`, { body: chat(), agent });
        // Longer than the 5 s after which a Node server closes by default.
        await new Promise((resolve) => setTimeout(resolve, 5_600));
        const again = await send(`${gateway.url}${CHAT}`, { body: chat(), agent });
        expect(again.status).toBe(200);
        expect(ports.size).toBe(1);
      } finally {
        agent.destroy();
      }
    });
  });
});
