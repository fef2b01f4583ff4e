import { MockEngine } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

describe('cancelling', () => {
  let running: RunningGateway;
  const others: MockEngine[] = [];
  afterEach(async () => {
    await running.close();
    for (const it of others.splice(0)) await it.stop();
  });
  const startMany = async (count: number, config: PartialGatewayConfig = {}): Promise<void> => {
    for (let i = 0; i < count; i += 1) others.push(await new MockEngine().start());
    running = await startGateway(config, { engines: others });
  };
  const cancel = (headers = {}): Promise<Answer> =>
    send(`${running.url}/v1/responses/resp_1/cancel`, { method: 'POST', headers });

  it.each(['memory', 'none'] as const)(
    'asks every engine; one that agrees decides (%s)',
    async (backend) => {
      await startMany(3, { history: { backend } });
      for (const [index, it] of others.entries()) {
        if (index !== 1) it.behave({ route: '/v1/responses/resp_1/cancel', status: 404 });
      }
      const answer = await cancel({ authorization: 'Bearer of-the-client' });
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id: 'resp_1', status: 'cancelled' });
      expect(answer.headers['x-smg-routed-worker-id']).toBe(others[1]?.url);
      const seen = others.flatMap((it) => it.requestsTo('/v1/responses/resp_1/cancel'));
      expect(seen.length).toBeGreaterThan(0);
      expect(seen[0]?.values('authorization')).toEqual(['Bearer of-the-client']);
    },
  );

  it('gives the last answer when none agrees, and keeps the key of the gateway from engines', async () => {
    await startMany(2, { auth: { apiKey: 'shared-key' } });
    for (const it of others) it.behave({ route: '/v1/responses/resp_1/cancel', status: 404 });
    expect((await cancel()).status).toBe(401);
    const answer = await cancel(bearer('shared-key'));
    expect(answer.status).toBe(404);
    const seen = others.flatMap((it) => it.requestsTo('/v1/responses/resp_1/cancel'));
    expect(seen).toHaveLength(2);
  });

  it('says when there is nobody, and when nobody answers', async () => {
    await startMany(0);
    const nobody = await cancel();
    expect(nobody.status).toBe(503);
    expect(nobody.headers['x-smg-error-code']).toBe('no_workers');
    await running.close();
    await startMany(1);
    others[0]?.behave({
      route: '/v1/responses/resp_1/cancel',
      cut: { how: 'reset', at: 'request' },
    });
    const silent = await cancel();
    expect(silent.status).toBe(502);
    expect(silent.headers['x-smg-error-code']).toBe('no_worker_response');
  });
});
