import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send } from '../support/http';
import { until } from '../support/until';
import { chat, chatStream } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw } from './support/raw-client';
import { sample } from './support/scrape';

const CHAT = '/v1/chat/completions';

describeLanes('logs and metrics', ({ hotLane }) => {
  const engine = new MockEngine();
  let gateway: RunningGateway;
  beforeAll(async () => {
    await engine.start();
    gateway = await startGateway(
      {
        requests: { hotLane },
        health: { checksDisabled: true, drainSettleSecs: 0 },
        auth: { apiKey: 'canary-key' },
      },
      { engines: [engine] },
    );
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });
  const authorization = 'Bearer canary-key';
  const ask = (body: object = chat(), headers: Record<string, string> = {}) =>
    send(`${gateway.url}${CHAT}`, { body, headers: { authorization, ...headers } });
  const lineOf = async (id: string) => {
    await until('the line is there', () => gateway.logs.some((line) => line['request_id'] === id));
    return gateway.logs.find((line) => line['request_id'] === id) ?? {};
  };

  it('[logs] one JSON object per line, whatever a client sends', async () => {
    const hostile = [
      '/v1/chat/completions?x=%0a%0d{"level":"error"}',
      '/v1/chat/completions?x="},{"msg":"forged"',
      '/v1/models?\x7f\xff',
      '/workers/%00%0a%1b[31m',
      `/${'x'.repeat(5_000)}`,
    ];
    for (const path of hostile) {
      await sendRaw(
        gateway.port,
        rawPost(path, '{"model":"a\\nb\\u2028","messages":[{}]}', [
          `Authorization: ${authorization}`,
          'Connection: close',
          'User-Agent: "}\x1b[2J',
          'X-Request-Id: "},{"forged":"1',
        ]),
      );
    }
    await ask(chat({ model: 'no-such\n"model"\u001b[31m' }));
    for (const line of gateway.rawLogs) {
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(line.slice(0, -1)).not.toMatch(/[\0-\x1f\x7f]/);
      const parsed = JSON.parse(line) as Record<string, unknown>;
      expect(parsed['level']).toBeDefined();
      expect(parsed).not.toHaveProperty('forged');
      expect(line.length).toBeLessThan(10_000);
    }
  });

  it('[logs] the line of a request has its id, worker, status and duration', async () => {
    await ask(chat(), { 'x-request-id': 'line-1' });
    expect(await lineOf('line-1')).toMatchObject({
      target: 'smg::response',
      route: CHAT,
      status_code: 200,
      worker: engine.url,
      model: 'mock-model',
    });
  });

  it('[keys] no credential in a log, an error or a metric, whatever came of it', async () => {
    await ask();
    await ask(chat(), { authorization: 'Bearer canary-other' });
    await ask(chat({ model: 'nobody' }));
    await send(`${gateway.url}${CHAT}?api_key=canary-query`, {
      body: chat(),
      headers: { authorization },
    });
    engine.behave({ route: CHAT, cut: { how: 'reset', at: 'request' } });
    const failed = await ask();
    engine.behaveNormally();
    expect(failed.status).toBeGreaterThanOrEqual(500);
    expect(failed.text).not.toContain('canary');
    expect(gateway.rawLogs.join('')).not.toContain('canary');
    expect(await gateway.metrics()).not.toContain('canary');
  });

  it('[metrics] no label value is chosen by a client', async () => {
    const series = async () =>
      (await gateway.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    await ask(chat({ model: 'first-unknown' }));
    await send(`${gateway.url}/first-unknown-path`);
    const before = (await series()).length;
    for (let at = 0; at < 60; at += 1) {
      await ask(chat({ model: `client-chosen-${at}` }), {
        'x-smg-error-code': `client-chosen-${at}`,
        'x-smg-routing-key': `client-chosen-${at}`,
      });
      await send(`${gateway.url}/client-chosen-${at}`);
      await send(`${gateway.url}/workers/client-chosen-${at}`, { headers: { authorization } });
      await send(`${gateway.url}${CHAT}?q=client-chosen-${at}`, { method: 'PATCH' });
    }
    const after = await series();
    expect(after.join('\n')).not.toContain('client-chosen');
    // A few more statuses and routes have been met, not one series per value.
    expect(after.length - before).toBeLessThan(150);
  });

  it('[metrics] every request counts once, by route template, streams at their end', async () => {
    const count = async (status: string) =>
      sample(await gateway.metrics(), 'smg_http_responses_total', {
        path: CHAT,
        status_code: status,
      });
    const before = await count('200');
    for (let at = 0; at < 5; at += 1) {
      await ask();
      await ask(chatStream());
    }
    await until('all are counted', async () => (await count('200')) >= before + 10);
    expect(await count('200')).toBe(before + 10);
  });

  it('[metrics] the series of a removed worker go away', async () => {
    const extra = new MockEngine();
    await extra.start();
    try {
      const headers = { authorization };
      const added = await send(`${gateway.url}/workers`, { body: { url: extra.url }, headers });
      expect(added.status).toBe(202);
      await until('it is there', async () => (await gateway.metrics()).includes(extra.url));
      const id = String(added.json['worker_id']);
      await send(`${gateway.url}/workers/${id}`, { method: 'DELETE', headers });
      await until('its series are gone', async () => {
        return !(await gateway.metrics()).includes(extra.url);
      });
    } finally {
      await extra.stop();
    }
  });
});
