import { request } from 'node:http';
import { MockEngine } from '@smg/testing';
import { startGateway, type RunningGateway } from '../support/gateway';
import { send, type Answer, type Sending } from '../support/http';
import { until } from '../support/until';
import { AUDIENCE, recordsIn, startIssuer, type AuditRecord, type Issuer } from './support/audit';
import { rawPost, sendRaw } from './support/raw-client';
import { startRl, type RlGateway } from './support/rl';

const UNKNOWN_ID = '0198b6a0-0000-7000-8000-000000000000';
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Sends one request and gives what the audit says of it, once its action has had the time. */
async function audited(
  gateway: RunningGateway,
  path: string,
  sending: Sending = {},
): Promise<{ readonly answer: Answer; readonly records: AuditRecord[] }> {
  const answer = await send(`${gateway.url}${path}`, sending);
  const id = answer.headers['x-request-id'];
  await until('its access line is there', () =>
    gateway.logs.some((line) => line['request_id'] === id && line['target'] === 'smg::response'),
  );
  const records = recordsIn(gateway.logs).filter((record) => record['request_id'] === id);
  return { answer, records };
}

describe('decisions, for every way to open the control plane', () => {
  let issuer: Issuer;
  let gateway: RunningGateway | undefined;
  beforeAll(async () => {
    issuer = await startIssuer();
  });
  afterAll(() => issuer.stop());
  afterEach(() => gateway?.close());

  const decisionOf = async (
    running: RunningGateway,
    headers: Record<string, string>,
  ): Promise<AuditRecord> => {
    gateway = running;
    const { records } = await audited(running, '/workers', { headers });
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      kind: 'decision',
      target: 'smg::audit',
      level: 'info',
      method: 'GET',
      path: '/workers',
      route: '/workers',
    });
    expect(String(records[0]?.['timestamp'])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    return records[0] ?? {};
  };
  const nobody = { principal: 'unauthenticated', auth_method: 'none', role: 'user' };

  it('nothing configured: anonymous', async () => {
    const running = await startGateway();
    expect(await decisionOf(running, {})).toMatchObject({
      principal: 'anonymous',
      auth_method: 'none',
      outcome: 'success',
    });
  });

  it('a shared key: shared, or nobody', async () => {
    const running = await startGateway({ auth: { apiKey: 'S' } });
    expect(await decisionOf(running, bearer('S'))).toMatchObject({
      principal: 'shared',
      auth_method: 'api_key',
      role: 'admin',
      outcome: 'success',
    });
    for (const headers of [{}, bearer('X')]) {
      expect(await decisionOf(running, headers)).toMatchObject({ ...nobody, outcome: 'denied' });
    }
  });

  it('tenant keys alone: always nobody', async () => {
    const running = await startGateway({
      auth: { tenantApiKeys: [{ tenantId: 'acme', key: 'T' }] },
    });
    expect(await decisionOf(running, bearer('T'))).toMatchObject({ ...nobody, outcome: 'denied' });
  });

  it('control-plane keys: the id of the key, and its role', async () => {
    const running = await startGateway({
      auth: {
        apiKey: 'S',
        controlPlaneApiKeys: [
          { id: 'ci', name: 'CI', role: 'admin', key: 'A' },
          { id: 'viewer', name: 'V', role: 'user', key: 'U' },
        ],
      },
    });
    expect(await decisionOf(running, bearer('A'))).toMatchObject({
      principal: 'ci',
      auth_method: 'api_key',
      role: 'admin',
      outcome: 'success',
    });
    expect(await decisionOf(running, bearer('U'))).toMatchObject({
      principal: 'viewer',
      auth_method: 'api_key',
      role: 'user',
      outcome: 'denied',
    });
    expect(await decisionOf(running, bearer('S'))).toMatchObject({ ...nobody, outcome: 'denied' });
  });

  it('tokens: the subject, whatever an issuer makes it', async () => {
    const running = await startGateway({
      auth: { jwtIssuer: issuer.url, jwtAudience: AUDIENCE, jwtJwksUri: issuer.jwksUri },
    });
    const sub = 'eve\n{"outcome":"success"}\u202e';
    const admin = await issuer.token({ sub, roles: ['admin'] });
    expect(await decisionOf(running, bearer(admin))).toMatchObject({
      principal: String.raw`eve\n{"outcome":"success"}\u{202e}`,
      auth_method: 'jwt',
      role: 'admin',
      outcome: 'success',
    });
    const user = await issuer.token({ sub: 'joe' });
    expect(await decisionOf(running, bearer(user))).toMatchObject({
      principal: 'joe',
      auth_method: 'jwt',
      role: 'user',
      outcome: 'denied',
    });
    const expired = await issuer.token({ sub: 'joe', roles: ['admin'] }, '-1h');
    expect(await decisionOf(running, bearer(expired))).toMatchObject({
      ...nobody,
      outcome: 'denied',
      details: expect.stringContaining('Invalid JWT'),
    });
  });

  it('--disable-audit-logging: no record', async () => {
    gateway = await startGateway({ audit: { disabled: true } });
    expect((await audited(gateway, '/workers')).records).toEqual([]);
    expect((await audited(gateway, '/flush_cache', { method: 'POST' })).records).toEqual([]);
  });
});

describe('actions', () => {
  let gateway: RlGateway;
  let engine: MockEngine;
  let id: string;
  const headers = bearer('S');
  beforeAll(async () => {
    engine = await new MockEngine({ apiKey: 'S' }).start();
    gateway = await startRl({ auth: { apiKey: 'S' } }, { engines: [engine] });
    const rows = await send(`${gateway.url}/workers`, { headers });
    id = rows.json['workers'][0].id as string;
  });
  afterAll(async () => {
    await gateway.close();
    await engine.stop();
  });

  const actionsOf = async (path: string, sending: Sending = {}): Promise<AuditRecord[]> => {
    const { records } = await audited(gateway, path, { headers, ...sending });
    return records.filter(({ kind }) => kind === 'action');
  };

  it('a read is a decision and no action', async () => {
    for (const path of ['/workers', `/workers/${id}`, '/get_loads', '/v1/rl/workers']) {
      const { records } = await audited(gateway, path, { headers });
      expect(records.map(({ kind }) => kind)).toEqual(['decision']);
    }
  });

  it('a refused call is a decision and no action', async () => {
    const { records } = await audited(gateway, '/workers', { body: {}, headers: bearer('X') });
    expect(records).toMatchObject([{ kind: 'decision', outcome: 'denied', method: 'POST' }]);
  });

  it('inference, probes and unknown paths are neither', async () => {
    for (const path of ['/generate', '/health', '/v1/models', '/nowhere']) {
      const sending = path === '/generate' ? { body: { text: 'x' }, headers } : { headers };
      expect((await audited(gateway, path, sending)).records).toEqual([]);
    }
  });

  it.each([
    ['an addition that is refused', '/workers', { body: { url: 7 } }, undefined, 422],
    ['an addition that is no JSON', '/workers', { body: '{"url"' }, undefined, 400],
    ['an unknown worker', `/workers/${UNKNOWN_ID}`, { method: 'DELETE' }, UNKNOWN_ID, 404],
    ['a name that is no worker', '/workers/no-such', { method: 'DELETE' }, 'no-such', 400],
  ])('%s has failed', async (_title, path, sending, resource, status) => {
    const [action, ...more] = await actionsOf(path, sending);
    expect(more).toEqual([]);
    expect(action).toMatchObject({ outcome: 'failed', status, principal: 'shared', path });
    expect(action?.['resource']).toBe(resource);
  });

  it('an addition names the worker it makes, a removal the one it takes', async () => {
    const { answer, records } = await audited(gateway, '/workers', {
      headers,
      body: { url: 'http://127.0.0.1:9', max_connection_attempts: 1, disable_health_check: true },
    });
    expect(answer.status).toBe(202);
    const added = answer.json['worker_id'] as string;
    expect(records[1]).toMatchObject({
      kind: 'action',
      outcome: 'success',
      status: 202,
      resource: added,
      route: '/workers',
    });
    const [removed] = await actionsOf(`/workers/${added}`, { method: 'DELETE' });
    expect(removed).toMatchObject({
      resource: added,
      route: '/workers/:id',
      path: `/workers/${added}`,
      method: 'DELETE',
    });
  });

  it('a worker named by its URL: without the password in it', async () => {
    const url = encodeURIComponent('http://u:canary@127.0.0.1:9');
    const [action] = await actionsOf(`/workers/${url}`, { method: 'DELETE' });
    expect(action).toMatchObject({ outcome: 'failed', resource: 'http://***@127.0.0.1:9' });
    expect(gateway.rawLogs.join('')).not.toContain('canary');
  });

  it('RL: an engine call, also by GET; a selector; a write to the table', async () => {
    const get = await actionsOf(`/v1/rl/workers/${id}/engine/server_info`, { method: 'GET' });
    expect(get).toMatchObject([
      { method: 'GET', resource: id, route: '/v1/rl/workers/:id/engine/*', outcome: 'success' },
    ]);
    const head = await actionsOf(`/v1/rl/workers/${id}/engine/server_info`, { method: 'HEAD' });
    expect(head).toMatchObject([{ method: 'HEAD', resource: id }]);
    const all = await actionsOf('/v1/rl/engine/flush_cache?selector=engine%3Dsglang&x=canary', {
      body: {},
    });
    expect(all).toMatchObject([{ resource: 'engine=sglang', path: '/v1/rl/engine/flush_cache' }]);
    const write = await actionsOf(`/v1/rl/workers/${id}/version`, {
      body: { weight_version: '7' },
    });
    expect(write).toMatchObject([{ resource: id, status: 200 }]);
  });

  it('a fan-out that part of the engines refused says so', async () => {
    const off = engine.behave({ route: '/flush_cache', status: 500 });
    const [action] = await actionsOf('/v1/rl/engine/flush_cache?selector=engine%3Dsglang', {
      body: {},
    });
    off();
    expect(action).toMatchObject({
      status: 207,
      outcome: 'success',
      details: 'not every engine did as asked',
    });
  });

  it('a client that leaves is recorded: 499', async () => {
    const off = engine.behave({ route: '/pause_generation', delayMs: 5_000 });
    const before = recordsIn(gateway.logs).length;
    const outgoing = request(`${gateway.url}/v1/rl/workers/${id}/engine/pause_generation`, {
      method: 'POST',
      headers,
    });
    outgoing.on('error', () => undefined);
    outgoing.end();
    await until('the engine is asked', () => engine.requestsTo('/pause_generation').length > 0);
    outgoing.destroy();
    await until('it is recorded', () => recordsIn(gateway.logs).length >= before + 2);
    off();
    expect(recordsIn(gateway.logs).at(-1)).toMatchObject({
      kind: 'action',
      outcome: 'failed',
      status: 499,
      resource: id,
      details: 'the client left before it was answered',
    });
  });

  it('[R76] one id in the answer, the log, the engine and the audit', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    for (const ids of [
      {},
      { 'x-request-id': 'mine-1' },
      { traceparent },
      { traceparent, 'x-request-id': 'mine-2' },
    ]) {
      const { answer, records } = await audited(
        gateway,
        `/v1/rl/workers/${id}/engine/server_info`,
        { method: 'GET', headers: { ...headers, ...ids } },
      );
      const sent = answer.headers['x-request-id'];
      expect(records.map(({ kind }) => kind)).toEqual(['decision', 'action']);
      if ('x-request-id' in ids) expect(sent).toBe(ids['x-request-id']);
      // A control call carries an id to the engine only when the caller has one.
      const upstream = engine.requestsTo('/server_info').at(-1)?.values('x-request-id');
      expect(upstream).toEqual('x-request-id' in ids ? [sent] : []);
    }
  });

  it('no text of a client forges a field or a line', async () => {
    const before = gateway.rawLogs.length;
    const forged = '","outcome":"success","principal":"root","x":"';
    await sendRaw(
      gateway.port,
      rawPost(`/workers/${forged.replaceAll(' ', '')}%0a{}?q=1`, '{}', [
        'Authorization: Bearer S',
        `X-Request-Id: ${forged}`,
        'Connection: close',
      ]).replace('POST', 'DELETE'),
    );
    const records = () => recordsIn(gateway.logs.slice(before));
    await until('it is recorded', () => records().length === 2);
    for (const line of gateway.rawLogs.slice(before)) {
      expect(line.indexOf('\n')).toBe(line.length - 1);
      const parsed = JSON.parse(line) as AuditRecord;
      expect(parsed['principal'] ?? 'shared').toBe('shared');
      expect(Object.keys(parsed)).not.toContain('x');
    }
    expect(records()).toMatchObject([
      { outcome: 'success' },
      { kind: 'action', outcome: 'failed' },
    ]);
  });

  it('counts records by kind and outcome', async () => {
    const page = await gateway.metrics();
    expect(page).toMatch(/smg_audit_records_total\{kind="decision",outcome="denied"\} [1-9]/);
    expect(page).toMatch(/smg_audit_records_total\{kind="action",outcome="failed"\} [1-9]/);
  });
});

describe('at a log level above info', () => {
  it('records stay in the log, as there is no file', async () => {
    const gateway = await startGateway();
    gateway.gateway.app.get<{ pino: { level: string } }>('smg:audit-log-sink', {
      strict: false,
    }).pino.level = 'error';
    expect((await send(`${gateway.url}/workers`)).status).toBe(200);
    expect(recordsIn(gateway.logs)).toMatchObject([{ kind: 'decision', level: 'info' }]);
    await gateway.close();
  });
});
