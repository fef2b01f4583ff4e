import { MockEngine } from '@smg/testing';
import { type RunningGateway, startGateway } from '../support/gateway';
import { send, type Answer } from '../support/http';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';

const CHAT = '/v1/chat/completions';

describeLanes('a decode engine that closes while prefill works', ({ hotLane }) => {
  const engines: MockEngine[] = [];
  let gateway: RunningGateway;
  const start = async (latencyMs = 0): Promise<MockEngine> => {
    const engine = await new MockEngine({ kind: 'vllm', latencyMs }).start();
    engines.push(engine);
    return engine;
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    for (let i = 0; i < 200 && !isSo(); i += 1) await new Promise((done) => setTimeout(done, 10));
    expect(isSo()).toBe(true);
  };
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()));
    await gateway.close();
  });

  it.each(['paused', 'asleep'])(
    '%s: it gets no request, and another pair serves',
    async (control) => {
      const prefill = await start(300);
      const first = await start();
      gateway = await startGateway(
        {
          requests: { hotLane },
          pd: { enabled: true, prefill: [prefill.url], decode: [first.url] },
          rl: { enabled: true },
          routing: { policy: 'round_robin' },
          retry: { initialBackoffMs: 5 },
        },
        { ready: 2 },
      );
      const set = async (id: string, state: string): Promise<void> => {
        const url = `${gateway.url}/v1/rl/workers/${id}/state`;
        expect((await send(url, { body: { control: state } })).status).toBe(200);
      };
      const workers = workersOf(gateway.url);
      const { id } = await workers.byUrl(first.url);
      const asked = (): number => prefill.requestsTo(CHAT).length;

      const answer: Promise<Answer> = send(gateway.url + CHAT, { body: chat() });
      await until(() => asked() === 1);
      await set(id, control);
      const second = await start();
      await workers.added({ url: second.url, worker_type: 'decode' });
      const got = await answer;
      expect(first.requestsTo(CHAT)).toHaveLength(0);
      expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, second.url]);

      const late = send(gateway.url + CHAT, { body: chat() });
      const before = asked();
      await until(() => asked() > before);
      await set((await workers.byUrl(second.url)).id, control);
      const refused = await late;
      expect([refused.status, refused.json['error'].code]).toEqual([503, 'no_available_workers']);
      expect(refused.json['error'].message).toContain(`2 ${control}`);
      expect(refused.headers).not.toHaveProperty('x-smg-routed-worker-id');
      expect(second.requestsTo(CHAT)).toHaveLength(1);
    },
  );
});
