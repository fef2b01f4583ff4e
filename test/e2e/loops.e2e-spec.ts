import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat } from './support/bodies';
import { describeLanes } from './support/lanes';

const CHAT = '/v1/chat/completions';
const MODEL = 'loop';

describeLanes('workers that lead back to the gateway', ({ hotLane }) => {
  const gateways: RunningGateway[] = [];
  const open = async () => {
    const gateway = await startGateway({
      requests: { hotLane },
      health: { checksDisabled: true },
      workers: { startupTimeoutSecs: 2 },
    });
    gateways.push(gateway);
    return gateway;
  };
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) await gateway.close();
  });
  const register = async (gateway: RunningGateway, url: string) =>
    (
      await send(`${gateway.url}/workers`, {
        body: { url, models: [{ id: MODEL }], runtime_type: 'sglang' },
      })
    ).json['worker_id'] as string;

  it('the gateway itself does not become a worker, however it is spelled', async () => {
    const gateway = await open();
    const ids = [
      await register(gateway, gateway.url),
      await register(gateway, gateway.url.replace('127.0.0.1', 'localhost')),
    ];
    for (const id of ids) {
      await until('the registration has failed', async () => {
        const { json } = await send(`${gateway.url}/workers/${id}`);
        return json['job_status']?.status === 'failed';
      });
    }
    expect((await send(`${gateway.url}${CHAT}`, { body: chat({ model: MODEL }) })).status).toBe(
      404,
    );
  });

  it('a request that comes back through another gateway is refused, once', async () => {
    const [first, second] = [await open(), await open()];
    await register(first, second.url);
    await register(second, first.url);
    for (const { url } of [first, second]) {
      await until('ready', async () => (await send(`${url}/readiness`)).status === 200);
    }
    const answer = await send(`${first.url}${CHAT}`, { body: chat({ model: MODEL }) });
    expect(answer.status).toBe(508);
    expect(answer.json['error'].code).toBe('loop_detected');
    const passes = first.logs.filter((line) => line['path'] === CHAT || line['route'] === CHAT);
    expect(passes).toHaveLength(2);
    const info = await send(`${first.url}/get_server_info`);
    expect(info.status).toBe(508);
  });

  it('requests that passed other gateways are served as ever', async () => {
    const gateway = await open();
    const answer = await send(`${gateway.url}/health`, {
      headers: { via: '1.1 smg-another, 1.0 proxy' },
    });
    expect(answer.status).toBe(200);
  });
});
