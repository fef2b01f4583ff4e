import { MockEngine } from '@smg/testing';
import { startGateway } from '../support/gateway';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { sendRaw, statusOf } from './support/raw-client';
import { handshake, WebSocketClient } from './support/web-socket-client';

const PATH = '/v1/realtime';

describe('realtime sessions and a shutdown', () => {
  it('one that opens during it is closed with 1001; one that waited is not begun', async () => {
    const engine = await new MockEngine({ model: 'voice' }).start();
    const gateway = await startGateway({
      health: { checksDisabled: true },
      requests: { shutdownGracePeriodSecs: 4 },
      admission: { maxConcurrentRequests: 1, queueSize: 1 },
    });
    try {
      await workersOf(gateway.url).added({ url: engine.url, labels: { realtime: 'true' } });
      // The listener closes after 2 s, which is when open sessions are told.
      engine.behave({ route: PATH, delayMs: 2_300 });
      const late = new WebSocketClient(`${gateway.url}${PATH}?model=voice`, {
        headers: { authorization: 'Bearer client' },
      });
      await until('the engine is asked', () => engine.counters.inFlight === 1);
      const head = handshake(`${PATH}?model=voice`, 'Authorization: Bearer client');
      const waiting = sendRaw(gateway.port, head);
      await until('the second waits', async () =>
        (await gateway.metrics()).includes('smg_admission_queue_depth 1'),
      );
      const startedAt = performance.now();
      await gateway.gateway.shutdown();
      expect(performance.now() - startedAt).toBeLessThan(3_900);
      await until('closed', () => late.closed !== undefined);
      expect(late.closed?.code).toBe(1001);
      expect(statusOf((await waiting).text)).toBe(503);
      expect(engine.requestsTo(PATH)).toHaveLength(1);
    } finally {
      await gateway.close();
      await engine.stop();
    }
  });
});
