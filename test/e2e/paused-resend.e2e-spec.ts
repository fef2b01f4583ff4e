import { MockEngine } from '@smg/testing';
import { type RunningGateway, startGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';

const CHAT = '/v1/chat/completions';

describeLanes('a connection that dies under a request to an engine paused since', ({ hotLane }) => {
  let gateway: RunningGateway;
  let engine: MockEngine;
  let other: MockEngine;
  beforeAll(async () => {
    engine = await new MockEngine().start();
    other = await new MockEngine().start();
    gateway = await startGateway(
      {
        requests: { hotLane },
        rl: { enabled: true },
        routing: { policy: 'passthrough' },
        retry: { initialBackoffMs: 1 },
        workers: { urls: [engine.url] },
      },
      { ready: 1 },
    );
  });
  afterAll(async () => {
    await Promise.all([engine.stop(), other.stop()]);
    await gateway.close();
  });

  it('the request is not written to it again, but goes to another', async () => {
    const workers = workersOf(gateway.url);
    // From now on the pool has a connection that has served.
    expect((await send(gateway.url + CHAT, { body: chat() })).status).toBe(200);
    engine.behave({ route: CHAT, delayMs: 400, cut: { how: 'reset', at: 'request' } });
    const answer = send(gateway.url + CHAT, { body: chat() });
    await until('the engine has it', () => engine.requestsTo(CHAT).length === 2);
    const { id } = await workers.byUrl(engine.url);
    const url = `${gateway.url}/v1/rl/workers/${id}/state`;
    expect((await send(url, { body: { control: 'paused' } })).status).toBe(200);
    await workers.added({ url: other.url });
    const got = await answer;
    expect([got.status, got.headers['x-smg-routed-worker-id']]).toEqual([200, other.url]);
    expect(engine.requestsTo(CHAT)).toHaveLength(2);
  });
});
