import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockEngine, type MockEngineOptions } from '@smg/testing';
import { type PartialGatewayConfig } from '../../src';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send, type Answer } from '../support/http';
import { ROOT } from '../support/program';
import { until } from '../support/until';

const CHAT = { model: 'mock-model', messages: [{ role: 'user', content: 'hi' }] };
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const tenant = (value: string): Record<string, string> => ({ 'x-smg-tenant-id': value });

let folder: string;
let file: string;
let running: RunningGateway | undefined;
let engine: MockEngine;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smg-tenants-'));
  file = join(folder, 'limits.yaml');
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  await engine.stop();
  rmSync(folder, { recursive: true });
});

/** A gateway with these limits in front of one engine. */
async function start(
  limits: string,
  config: PartialGatewayConfig = {},
  options: MockEngineOptions = {},
): Promise<RunningGateway> {
  engine = await new MockEngine(options).start();
  writeFileSync(file, limits);
  running = await startGateway(
    {
      ...config,
      tenants: { rateLimitEnabled: true, rateLimitConfig: file, ...config.tenants },
    },
    { engines: [engine] },
  );
  return running;
}

const chat = (headers: Record<string, string> = {}, extra: object = {}): Promise<Answer> =>
  send(`${running?.url ?? ''}/v1/chat/completions`, { headers, body: { ...CHAT, ...extra } });
const statuses = async (count: number, headers: Record<string, string> = {}): Promise<number[]> => {
  const seen: number[] = [];
  for (let i = 0; i < count; i += 1) seen.push((await chat(headers)).status);
  return seen;
};
/** Sends from another address of the loopback net. */
const chatFrom = (localAddress: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const url = `${running?.url ?? ''}/v1/chat/completions`;
    request(url, { method: 'POST', localAddress, headers, agent: false }, (answer) => {
      answer.resume().on('end', () => {
        resolve(answer.statusCode ?? 0);
      });
    })
      .on('error', reject)
      .end(JSON.stringify(CHAT));
  });

describe.each([true, false])('tenant limits (hot lane %s)', (hotLane) => {
  const lane = { requests: { hotLane } };

  it('[G120] the first is served, the next is told when to come again', async () => {
    const { rawLogs } = await start('default_policy: {requests_per_minute: 1}', lane);
    expect((await chat()).status).toBe(200);
    const refused = await chat();
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toMatch(/^(?:60|59)$/);
    expect(refused.headers['x-smg-error-code']).toBe('tenant_rate_limit_exceeded');
    expect(refused.headers['x-smg-routed-worker-id']).toBeUndefined();
    expect(refused.json).toEqual({
      error: {
        type: 'Too Many Requests',
        code: 'tenant_rate_limit_exceeded',
        message: expect.stringMatching(/budget of 1 requests per minute is used up/),
        param: null,
      },
    });
    expect(engine.counters.of('/v1/chat/completions')).toBe(1);
    const page = (await running?.metrics()) ?? '';
    for (const name of ['smg_tenant_rate_limit_total', 'smg_http_rate_limit_total']) {
      expect(page).toContain(`${name}{result="allowed"} 1\n`);
      expect(page).toContain(`${name}{result="rejected"} 1\n`);
    }
    await until('the refusal is logged', () =>
      rawLogs.some((line) => line.includes('tenant_rate_limit_exceeded')),
    );
  });

  it('[G120] what can never fit is not told to come again', async () => {
    await start('default_policy: {tokens_per_minute: 100}', lane);
    const refused = await chat({}, { max_tokens: 101 });
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBeUndefined();
    expect(refused.json['error'].message).toContain('no more than 100 tokens per minute');
    expect((await chat({}, { max_tokens: 50 })).status).toBe(200);
  });

  it('the time named is kept', async () => {
    await start('default_policy: {requests_per_minute: 60}', lane);
    let refused = await chat();
    for (let i = 0; refused.status === 200 && i < 200; i += 1) refused = await chat();
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('1');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await chat()).status).toBe(200);
  });

  it('tenants by key have budgets of their own, the shared key included', async () => {
    const shared = createHash('sha256').update('shared').digest('hex');
    await start(
      [
        'default_policy: {requests_per_minute: 1}',
        'tenants:',
        '  - {tenant_key: auth:acme, requests_per_minute: 2}',
        `  - {tenant_key: auth:${shared}, requests_per_minute: 3}`,
      ].join('\n'),
      {
        ...lane,
        auth: {
          apiKey: 'shared',
          tenantApiKeys: [
            { tenantId: 'acme', key: 'a' },
            { tenantId: 'other', key: 'o' },
          ],
        },
        tenants: { trustHeader: true },
      },
    );
    // A key says more than a header does.
    expect(await statuses(3, { ...bearer('a'), ...tenant('x') })).toEqual([200, 200, 429]);
    expect(await statuses(2, { ...bearer('o'), ...tenant('y') })).toEqual([200, 429]);
    expect(await statuses(4, bearer('shared'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(1)).toEqual([401]);
  });

  it('a header names the tenant only where it is trusted, and reaches no engine', async () => {
    await start('default_policy: {requests_per_minute: 1}', {
      ...lane,
      tenants: { trustHeader: true },
    });
    expect(await statuses(2, tenant('a'))).toEqual([200, 429]);
    expect(await statuses(2, tenant('b'))).toEqual([200, 429]);
    expect(engine.requestsTo('/v1/chat/completions').map((it) => it.values('x-smg-tenant-id'))).toEqual([[], []]);
    // Unusable values, and none, are the same address.
    expect((await chat(tenant('x'.repeat(257)))).status).toBe(200);
    for (const value of ['two words', 'caf\xe9', '']) {
      expect((await chat(tenant(value))).status).toBe(429);
    }
    expect((await chat()).status).toBe(429);
  }); // prettier-ignore

  it('a forged header is no way around a limit', async () => {
    await start('default_policy: {requests_per_minute: 2}', lane);
    expect(await statuses(2, tenant('a'))).toEqual([200, 200]);
    expect(await statuses(1, tenant('b'))).toEqual([429]);
  });

  it('without key and header the address is the tenant', async () => {
    await start(
      'default_policy: {requests_per_minute: 1}\ntenants: [{tenant_key: "ip:127.0.0.3", requests_per_minute: 0}]',
      { ...lane, listener: { host: '0.0.0.0' } },
    );
    expect([await chatFrom('127.0.0.1'), await chatFrom('127.0.0.1')]).toEqual([200, 429]);
    expect([await chatFrom('127.0.0.2'), await chatFrom('127.0.0.2')]).toEqual([200, 429]);
    expect(await chatFrom('127.0.0.3')).toBe(429);
  });

  it('every rule about the canonical model applies, whatever name was used', async () => {
    await start(
      [
        'default_policy:',
        '  requests_per_minute: 5',
        '  model_rules:',
        '    - {rule_id: exact, matcher: {type: exact, value: mock-model}, requests_per_minute: 2}',
        '    - {rule_id: family, matcher: {type: prefix, value: mock}, requests_per_minute: 3}',
        '    - {rule_id: other, matcher: {type: exact, value: short}, requests_per_minute: 0}',
      ].join('\n'),
      { ...lane, workers: { modelAliases: [{ alias: 'short', canonical: 'mock-model' }] } },
    );
    expect((await chat({}, { model: 'short' })).status).toBe(200);
    expect((await chat()).status).toBe(200);
    const refused = await chat({}, { model: 'short' });
    expect(refused.status).toBe(429);
    expect(refused.json['error'].message).toContain('(rule exact)');
  });

  it('buffered answers settle with what the engine reports', async () => {
    await start('default_policy: {tokens_per_minute: 200}', lane, { tokens: 4 });
    // Each asks for 150 and uses a handful: estimates alone would refuse the second.
    for (let i = 0; i < 3; i += 1) expect((await chat({}, { max_tokens: 150 })).status).toBe(200);
    const { usage } = (await chat({}, { max_tokens: 5 })).json;
    expect(usage.total_tokens).toBeLessThan(20);
    const generate = await send(`${running?.url ?? ''}/generate`, {
      body: { text: 'x', sampling_params: { max_new_tokens: 150 } },
    });
    expect(generate.status).toBe(200);
  });

  it('streams settle with their last report, and those without one cost the estimate', async () => {
    await start('default_policy: {tokens_per_minute: 200}', lane, { tokens: 4 });
    const reporting = { stream: true, max_tokens: 120, stream_options: { include_usage: true } };
    for (let i = 0; i < 2; i += 1) {
      const answer = await chat({}, reporting);
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('"usage":{');
      expect(answer.text).toContain('[DONE]');
    }
    expect((await chat({}, { stream: true, max_tokens: 120 })).status).toBe(200);
    expect((await chat({}, { stream: true, max_tokens: 120 })).status).toBe(429);
  });

  it('what no engine answered is given back; what one refused generates nothing', async () => {
    await start('default_policy: {requests_per_minute: 2, tokens_per_minute: 100}', {
      ...lane,
      retry: { maxAttempts: 2, initialBackoffMs: 1 },
      breaker: { disabled: true },
    });
    const dead = engine.behave({ route: '/v1/chat/completions', cut: { how: 'reset', at: 'request' } });
    for (let i = 0; i < 5; i += 1) expect((await chat({}, { max_tokens: 90 })).status).toBe(502);
    dead();
    const refusing = engine.behave({ route: '/v1/chat/completions', status: 400, body: { error: 'no' } });
    expect((await chat({}, { max_tokens: 90 })).status).toBe(400);
    refusing();
    expect((await chat({}, { max_tokens: 90 })).status).toBe(200);
    expect((await chat({}, { max_tokens: 1 })).status).toBe(429);
  }); // prettier-ignore

  it('a client that hangs up after dispatch has used its share, one with half a body has not', async () => {
    await start('default_policy: {requests_per_minute: 1}', lane, { tokenLatencyMs: 20, tokens: 50 });
    const half = request(`${running?.url ?? ''}/generate`, { method: 'POST', headers: { 'content-length': 100 } });
    half.on('error', () => undefined);
    half.write('{');
    await new Promise((resolve) => setTimeout(resolve, 50));
    half.destroy();
    const stream = await open(`${running?.url ?? ''}/v1/chat/completions`, { body: { ...CHAT, stream: true } });
    stream.leave();
    expect((await chat()).status).toBe(429);
    await until('the engine has nobody', () => engine.counters.inFlight === 0);
  }); // prettier-ignore

  it('information, model, probe and control routes are exempt', async () => {
    await start('default_policy: {requests_per_minute: 0, tokens_per_minute: 0}', {
      ...lane,
      rl: { enabled: true },
    });
    expect((await chat()).status).toBe(429);
    const paths = ['/health', '/readiness', '/v1/models', '/get_model_info', '/get_server_info'];
    for (const path of [...paths, '/workers', '/v1/rl/workers']) {
      expect([path, (await send(`${running?.url ?? ''}${path}`)).status]).toEqual([path, 200]);
    }
    expect((await chat({}, { model: 'nobody-serves-this' })).status).toBe(404);
  });
});

describe('the file of limits', () => {
  it('may be the one of the guide', async () => {
    const guide = readFileSync(join(ROOT, 'docs/guides/tenants.md'), 'utf8');
    const [, example = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(guide) ?? [];
    await start(example, {
      auth: {
        apiKey: 's',
        tenantApiKeys: [
          { tenantId: 'acme', key: 'a' },
          { tenantId: 'batch', key: 'b' },
        ],
      },
    });
    expect((await chat(bearer('a'), { max_tokens: 20_001 })).status).toBe(200);
    expect((await chat(bearer('b'), { max_tokens: 10_000_000 })).status).toBe(200);
    expect((await chat(bearer('s'), { max_tokens: 20_001 })).status).toBe(429);
  });

  it('is read again on SIGHUP: the same limits keep their fill, a bad file changes nothing', async () => {
    const { gateway, logs } = await start(
      'default_policy: {requests_per_minute: 1}\ntenants: [{tenant_key: header:a, requests_per_minute: 1}]',
      { tenants: { trustHeader: true } },
    );
    expect(await statuses(2, tenant('a'))).toEqual([200, 429]);
    expect(await statuses(2, tenant('b'))).toEqual([200, 429]);

    writeFileSync(file, 'default_policy: {requests_per_minutes: 9}\n');
    await gateway.reload();
    expect(await statuses(1, tenant('b'))).toEqual([429]);
    const complaint = logs.find((line) => String(line['msg']).startsWith('tenant-limits: kept'));
    expect(complaint?.['msg']).toContain(`${file}:1:18: unknown key "requests_per_minutes"`);

    writeFileSync(
      file,
      'default_policy: {requests_per_minute: 2}\ntenants: [{tenant_key: header:a, requests_per_minute: 1}]',
    );
    await gateway.reload();
    expect(await statuses(1, tenant('a'))).toEqual([429]);
    expect(await statuses(3, tenant('b'))).toEqual([200, 200, 429]);
  });

  it.each([
    ['default_policy: {requests_per_minute: -1}', ':1:39: requests_per_minute must be'],
    ['tenants: [{tenant_key: acme}]', ':1:24: tenant_key must be'],
    ['a: &a [x, x]\nb: [*a, *a]', ':1:1: unknown key "a"'],
    [undefined, 'ENOENT'],
  ])('stops the start when it is %j', async (limits, message) => {
    engine = await new MockEngine().start();
    if (limits !== undefined) writeFileSync(file, limits);
    const tenants = { rateLimitEnabled: true, rateLimitConfig: file };
    await expect(startGateway({ tenants })).rejects.toThrow(message);
  });
});
