import { Module } from '@nestjs/common';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CANDIDATE_FILTER, type CandidateFilter, type WorkerView } from '@smg/plugin-api';
import { MockEngine } from '@smg/testing';
import { send, type Sending } from '../support/http';
import { until } from '../support/until';
import { workersOf } from '../support/workers';
import { AUDIENCE, startIssuer, type Issuer } from './support/audit';
import { chat, chatStream, MODEL } from './support/bodies';
import { describeLanes } from './support/lanes';
import { rawPost, sendRaw } from './support/raw-client';
import { startRl, type RlGateway } from './support/rl';

/** Secrets of operators and clients: they may be in no answer. */
const OURS = /canary-[a-z0-9]+/g;
/** What an engine says: it may be in the relayed answer, and nowhere else. */
const ENGINES = /relayed-canary/g;

const CHAT = '/v1/chat/completions';
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Fails selection when asked to. */
class ThrowingFilter implements CandidateFilter {
  readonly name = 'throwing';
  readonly order = 900;
  filter(
    candidates: readonly WorkerView[],
    context: { header(name: string): string | undefined },
  ): readonly WorkerView[] {
    if (context.header('x-throw') !== undefined) throw new Error('this filter is broken');
    return candidates;
  }
}

@Module({ providers: [...CANDIDATE_FILTER.provide(ThrowingFilter)] })
class ThrowingPlugin {}

describeLanes('canaries', ({ hotLane }) => {
  let folder: string;
  let auditFile: string;
  let issuer: Issuer;
  let engine: MockEngine;
  let guest: MockEngine;
  let gateway: RlGateway;
  /** Tokens that were made here; each part of one is a secret as well. */
  const tokens: string[] = [];
  /** What was answered, but for bodies that engines wrote. */
  const answers: string[] = [];
  const statuses: number[] = [];
  let guestId: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'smg-canaries-'));
    auditFile = join(folder, 'audit.log');
    issuer = await startIssuer();
    engine = await new MockEngine({ apiKey: 'canary-shared' }).start();
    guest = await new MockEngine({ model: 'guest', apiKey: 'canary-worker' }).start();
    const controlKeys = join(folder, 'control-keys');
    writeFileSync(controlKeys, 'filed:Filed:admin:canary-filed\n', { mode: 0o600 });
    gateway = await startRl(
      {
        auth: {
          apiKey: 'canary-shared',
          tenantApiKeys: [{ tenantId: 'acme', key: 'canary-tenant' }],
          controlPlaneApiKeys: [
            { id: 'ci', name: 'CI', role: 'admin', key: 'canary-admin' },
            { id: 'viewer', name: 'V', role: 'user', key: 'canary-user' },
          ],
          controlPlaneApiKeysFile: controlKeys,
          jwtIssuer: issuer.url,
          jwtAudience: AUDIENCE,
          jwtJwksUri: issuer.jwksUri,
        },
        audit: { logFile: auditFile },
        requests: { hotLane, maxPayloadSize: 20_000 },
        retry: { maxAttempts: 2, initialBackoffMs: 1, maxBackoffMs: 2 },
        health: { checksDisabled: true },
        breaker: { disabled: true },
        rl: { controlTimeoutSecs: 1 },
      },
      { engines: [engine], plugins: [ThrowingPlugin] },
    );
    const workers = workersOf(gateway.url, 'canary-admin');
    guestId = await workers.added({ url: guest.url, api_key: 'canary-worker' });
  });

  afterAll(async () => {
    await gateway.close();
    await Promise.all([engine.stop(), guest.stop(), issuer.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param isRelayed the body is an engine's own. */
  const call = async (path: string, sending: Sending = {}, isRelayed = false): Promise<number> => {
    const got = await send(`${gateway.url}${path}`, {
      ...sending,
      headers: {
        cookie: 'session=canary-cookie',
        'x-api-key': 'canary-xapikey',
        ...sending.headers,
      },
    });
    statuses.push(got.status);
    if (isRelayed)
      answers.push(
        got.text.replaceAll(ENGINES, ''),
        JSON.stringify(got.headers).replaceAll(ENGINES, ''),
      );
    else answers.push(got.text, JSON.stringify(got.headers));
    return got.status;
  };
  const token = async (...given: Parameters<Issuer['token']>): Promise<string> => {
    const made = await issuer.token(...given);
    tokens.push(made);
    return made;
  };

  it('credentials of every kind, good and bad, on both planes', async () => {
    const valid = await token({ sub: 'ops', roles: ['admin'], secret: 'canary-claim' });
    const user = await token({ sub: 'joe', note: 'canary-claim' });
    const expired = await token({ sub: 'old', roles: ['admin'] }, '-1h');
    const unsigned = `${valid.slice(0, -6)}AAAAAA`;
    const [head = '', , signature = ''] = valid.split('.');
    tokens.push(unsigned);
    const values = [
      'Basic canary-basic',
      'Digest username="x", response="canary-digest"',
      'canary-bare',
      'Bearer canary-guess',
      'Bearer canary-a.canary-b.canary-c',
      `Bearer ${head}.canarypayload.${signature}`,
      'Bearer  canary-two canary-tokens',
      `Bearer ${'canary-long'.repeat(500)}`,
      ...[expired, unsigned, user, valid, 'canary-tenant', 'canary-user', 'canary-shared'].map(
        (it) => `Bearer ${it}`,
      ),
    ];
    for (const authorization of values) {
      for (const method of ['GET', 'POST', 'PATCH']) {
        const body = method === 'GET' ? {} : { body: { api_key: 'canary-body', url: 7 } };
        await call('/workers?token=canary-query', { method, headers: { authorization }, ...body });
      }
      await call('/v1/rl/workers?api_key=canary-query', { headers: { authorization } });
      await call(`${CHAT}?access_token=canary-query`, { headers: { authorization }, body: {} });
      await call('/v1/models?key=canary-query', { headers: { authorization } });
    }
    expect(new Set(statuses)).toEqual(new Set([200, 400, 401, 403, 405, 422]));
  });

  it('inference that the gateway refuses', async () => {
    const headers = bearer('canary-tenant');
    const messages = [{ role: 'user', content: 'canary-prompt' }];
    expect(await call(CHAT, { headers, body: { model: 'none', messages } })).toBe(404);
    expect(await call(CHAT, { headers, body: '{"model":"m","x":canary-json' })).toBe(400);
    expect(await call(CHAT, { headers, body: { model: ['canary-model'], messages } })).toBe(400);
    const large = { model: MODEL, messages, pad: 'canary-pad'.repeat(4_000) };
    expect(await call(CHAT, { headers, body: large })).toBe(413);
    const throwing = { ...headers, 'x-throw': '1' };
    expect(await call(CHAT, { headers: throwing, body: chat({ messages }) })).toBe(500);
    const policy = { ...headers, 'x-smg-version-policy': 'garbage' };
    expect(await call(CHAT, { headers: policy, body: chat({ messages }) })).toBe(400);
    const stale = { ...headers, 'x-smg-version-policy': 'exact:canary' };
    await call(CHAT, { headers: stale, body: chat({ messages }) });
    expect(await call('/nowhere?token=canary-query', { headers })).toBe(404);
    expect(await call(`${CHAT}?token=canary-query`, { headers, method: 'PUT' })).toBe(405);
    expect(await call('/workers#token=canary-query', { headers })).toBe(401);
  });

  it('inference that an engine spoils', async () => {
    const headers = bearer('canary-shared');
    const ask = (isRelayed: boolean, body: object = chat()): Promise<number> =>
      call(CHAT, { headers, body }, isRelayed);
    const spoilt = { 'x-internal': 'relayed-canary', 'set-cookie': 'a=relayed-canary' };
    for (const status of [400, 401, 404, 429, 500, 503]) {
      engine.behave({ route: CHAT, status, headers: spoilt, body: { error: 'relayed-canary' } });
      expect(await ask(true)).toBe(status);
      await ask(true, chatStream());
    }
    for (const rawHead of [
      'relayed-canary is no head\r\n\r\n',
      'HTTP/1.1 200 OK\r\nrelayed-canary\r\n\r\n',
      'HTTP/1.1 302 Found\r\nlocation: http://u:relayed-canary@h/\r\ncontent-length: 0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nrelayed-canary',
    ]) {
      engine.behave({ route: CHAT, rawHead });
      await ask(rawHead.includes('302'));
    }
    engine.behave({ route: CHAT, cut: { how: 'reset', at: 'request' } });
    expect(await ask(false)).toBe(502);
    const chunks = ['data: relayed-canary\n\n', 'data: relayed-canary'];
    engine.behave({ route: CHAT, chunks, cut: { how: 'reset', at: 20 } });
    await ask(true, chatStream()).catch(() => 0);
    engine.behaveNormally();
    expect(await ask(false)).toBe(200);
  });

  it('registrations, good and bad', async () => {
    const headers = bearer('canary-admin');
    const refused: readonly unknown[] = [
      { url: 7, api_key: 'canary-spec' },
      { url: 'http://user:canary-password@127.0.0.1:1', api_key: 'canary-spec' },
      { url: 'ftp://user:canary-password@h', api_key: 'canary-spec' },
      { url: 'http://h:1', api_key: ['canary-spec'] },
      { url: 'http://h:1', api_key: { canary: 'canary-spec' } },
      { url: 'http://h:1', labels: { a: 1 }, api_key: 'canary-spec' },
      { url: 'http://169.254.169.254', api_key: 'canary-spec' },
      '{"url":"http://h:1","api_key":"canary-spec',
      '"canary-spec"',
      `{"api_key":"${'canary-big'.repeat(10)}"} trailing canary-spec`,
    ];
    const accepted: unknown[] = [];
    for (const body of refused) {
      const status = await call('/workers', { headers, body });
      if (status < 400) accepted.push(body);
      await call(`/workers/${guestId}`, { headers, body, method: 'PUT' });
    }
    expect(accepted).toEqual([]);
    const dead = { url: 'http://127.0.0.1:9', api_key: 'canary-dead', max_connection_attempts: 1 };
    expect(await call('/workers', { headers, body: dead })).toBe(202);
    // A key that is no header value: taken, and then of no use.
    const illegal = { ...dead, url: 'http://127.0.0.1:10', api_key: 'canary-\r\nspec' };
    await call('/workers', { headers, body: illegal });
    const wrong = new MockEngine({ apiKey: 'another' });
    await wrong.start();
    wrong.behave({ status: 401, body: 'relayed-canary', headers: { 'x-a': 'relayed-canary' } });
    const spec = { url: wrong.url, api_key: 'canary-wrong', max_connection_attempts: 1 };
    expect(await call('/workers', { headers, body: spec })).toBe(202);
    const text = { ...headers, 'content-type': 'canary/type' };
    await call('/workers', { headers: text, body: 'canary-text' });
    await call(`/workers/${guestId}`, {
      headers,
      method: 'PATCH',
      body: { api_key: 'canary-worker', priority: 3 },
    });
    await call(`/workers/${encodeURIComponent('http://u:canary-pw@h:1')}`, { headers });
    await call(`/workers/${encodeURIComponent('http://u:canary-pw@h:1')}`, {
      headers,
      method: 'DELETE',
    });
    await until('the failed registrations are in the log', () => {
      const all = gateway.rawLogs.join('');
      return all.includes('127.0.0.1:9') && all.includes('127.0.0.1:10') && all.includes(wrong.url);
    });
    for (const path of ['/workers', `/workers/${guestId}`, '/get_loads', '/v1/rl/workers']) {
      expect(await call(path, { headers })).toBe(200);
    }
    await call('/flush_cache', { headers, method: 'POST' });
    await wrong.stop();
  });

  it('RL calls that fail', async () => {
    const headers = bearer('canary-filed');
    const all = `selector=${encodeURIComponent('engine=sglang')}`;
    const one = `/v1/rl/workers/${guestId}/engine`;
    const body = { weight_version: '7', master_password: 'canary-rlbody' };
    const both = async (isRelayed: boolean): Promise<void> => {
      await call(
        `${one}/update_weights_from_disk?token=canary-query`,
        { headers, body },
        isRelayed,
      );
      await call(
        `/v1/rl/engine/update_weights_from_disk?${all}&token=canary-query`,
        { headers, body },
        isRelayed,
      );
    };
    await both(false);
    guest.behave({ status: 500, body: 'relayed-canary', headers: { 'x-a': 'relayed-canary' } });
    await both(true);
    guest.behave({ rawHead: 'relayed-canary\r\n\r\n' });
    await both(false);
    guest.behave({ cut: { how: 'hang', at: 'request' } });
    await both(false);
    guest.behave({ cut: { how: 'reset', at: 'head' } });
    await both(false);
    guest.behaveNormally();
    await call(`${one}/../../canary?token=canary-query`, { headers, body });
    await call('/v1/rl/engine/flush_cache?token=canary-query', { headers, body });
    await call(`/v1/rl/workers/${guestId}/version`, {
      headers,
      body: '{"weight_version":canary-json',
    });
    await call(`/v1/rl/workers/${guestId}/version`, {
      headers,
      body: { weight_version: ['canary-version'] },
    });
    await call(`/v1/rl/state?${all}`, { headers, body: { control: 'canary-control' } });
  });

  it('messages that are none', async () => {
    const raw = async (text: string): Promise<void> => {
      answers.push((await sendRaw(gateway.port, text, { timeoutMs: 1_000 })).text);
    };
    const secret = 'Authorization: Bearer canary-raw';
    await raw(`GET /workers HTTP/1.1\r\nHost: x\r\n${secret}\r\nbroken canary-raw\r\n\r\n`);
    await raw(`GET /workers?token=canary-query HTTP/1.1\r\n${secret}\r\n\r\n`);
    await raw(`CONNECT canary-raw:1 HTTP/1.1\r\nHost: x\r\n${secret}\r\n\r\n`);
    await raw('canary-raw\r\n\r\n');
    await raw(`GET /workers HTTP/1.1\r\nHost: x\r\nX-Big: ${'canary-raw'.repeat(8_000)}\r\n\r\n`);
    await raw(rawPost('/workers', 'canary-raw', [secret, secret, 'Connection: close']));
    await raw(rawPost(CHAT, 'canary-raw', [secret, 'Expect: canary-raw', 'Connection: close']));
    await raw(
      `POST ${CHAT} HTTP/1.1\r\nHost: x\r\n${secret}\r\nTransfer-Encoding: chunked\r\n\r\ncanary-raw`,
    );
  });

  it('clients that leave', async () => {
    engine.behave({ route: CHAT, delayMs: 2_000 });
    const before = gateway.logs.length;
    const asked = engine.requestsTo(CHAT).length;
    const outgoing = request(`${gateway.url}${CHAT}?token=canary-query`, {
      method: 'POST',
      headers: bearer('canary-tenant'),
    });
    outgoing.on('error', () => undefined);
    outgoing.end(JSON.stringify(chat({ user: 'canary-left' })));
    await until('the engine is asked', () => engine.requestsTo(CHAT).length > asked);
    outgoing.destroy();
    await until('it is in the log', () => gateway.logs.length > before);
    engine.behaveNormally();
  });

  it('left no trace in the log, the metrics, the audit file and the answers', async () => {
    writeFileSync(join(folder, 'control-keys'), 'broken line canary-filed2\n');
    await gateway.gateway.reload();
    const audit = readFileSync(auditFile, 'utf8');
    const places = {
      log: gateway.rawLogs.join(''),
      metrics: await gateway.metrics(),
      audit,
      answers: answers.join('\n'),
    };
    for (const text of Object.values(places)) expect(text.length).toBeGreaterThan(1_000);
    expect(places.log).toContain('"level":"debug"');
    const found = Object.entries(places).flatMap(([place, text]) => [
      ...[...text.matchAll(OURS), ...text.matchAll(ENGINES)].map(
        ({ 0: match, index }) =>
          `${place}: ${match}: ${text.slice(Math.max(0, index - 200), index + 60)}`,
      ),
      ...tokens
        .flatMap((it) => [it, ...it.split('.').slice(1)])
        .filter((part) => text.includes(part))
        .map((part) => `${place}: part of a token: ${part}`),
    ]);
    expect([...new Set(found)].slice(0, 20)).toEqual([]);
  });
});
