import { MockEngine } from '@smg/testing';
import { createServer } from 'node:net';
import { type PartialGatewayConfig } from '../../src';
import {
  type Database,
  DATABASE_SECRETS,
  findPostgres,
  findRedis,
  startPostgres,
  startRedis,
} from '../support/databases';
import { startGateway, type RunningGateway } from '../support/gateway';
import { open, send, type Answer, type Sending } from '../support/http';
import { until } from '../support/until';

const MODEL = 'mock-model';
const message = (text: string): object => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

let running: RunningGateway;
let engine: MockEngine;

async function start(config: PartialGatewayConfig = {}): Promise<void> {
  engine = await new MockEngine().start();
  running = await startGateway(config, { engines: [engine] });
}
const stop = async (): Promise<void> => {
  await running.close();
  await engine.stop();
};
const call = (path: string, sending: Sending = {}): Promise<Answer> =>
  send(`${running.url}${path}`, sending);
const get = (path: string, headers = {}): Promise<Answer> => call(path, { headers });
const post = (path: string, body: unknown, headers = {}): Promise<Answer> =>
  call(path, { body, headers });
const remove = (path: string, headers = {}): Promise<Answer> =>
  call(path, { method: 'DELETE', headers });
const respond = (body: object, headers = {}): Promise<Answer> =>
  post('/v1/responses', { model: MODEL, ...body }, headers);
const newConversation = async (body: object = {}, headers = {}): Promise<string> => {
  const answer = await post('/v1/conversations', body, headers);
  expect(answer.status).toBe(200);
  return String(answer.json['id']);
};

const LANES = [
  { name: 'hot lane, memory', config: {} },
  { name: 'router lane, memory', config: { requests: { hotLane: false } } },
];

describe.each(LANES)('stored responses ($name)', ({ config }) => {
  beforeAll(() => start(config));
  afterAll(stop);

  it('[G39] a stored response is there, until it is deleted', async () => {
    const made = await respond({ input: 'Hello' });
    expect(made.status).toBe(200);
    const path = `/v1/responses/${made.json['id']}`;
    const got = await get(path);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toMatch(/^application\/json/);
    // As the engine wrote it, byte for byte.
    expect(got.text).toBe(made.text);
    const deleted = await remove(path);
    expect(deleted.json).toEqual({
      id: made.json['id'],
      object: 'response.deleted',
      deleted: true,
    });
    const gone = await get(path);
    expect(gone.status).toBe(404);
    expect(gone.headers['x-smg-error-code']).toBe('not_found');
    expect(gone.json['error']).toMatchObject({ code: 'not_found', type: 'Not Found' });
    expect((await remove(path)).status).toBe(404);
    expect((await get(`${path}/input_items`)).status).toBe(404);
  });

  it('[G40] lists two items for two inputs', async () => {
    const input = [message('one'), { ...message('two'), id: 'msg_mine' }];
    const made = await respond({ input });
    const list = await get(`/v1/responses/${made.json['id']}/input_items`);
    expect(list.json).toMatchObject({
      object: 'list',
      data: [message('one'), { ...message('two'), id: 'msg_mine' }],
      last_id: 'msg_mine',
      has_more: false,
    });
    expect(list.json['data']).toHaveLength(2);
    expect(list.json['first_id']).toMatch(/^msg_[0-9a-f]{48}$/);
    expect(list.json['data'][0].id).toBe(list.json['first_id']);
  });

  it('a text is one message of the user', async () => {
    const made = await respond({ input: 'Hello' });
    const list = await get(`/v1/responses/${made.json['id']}/input_items`);
    expect(list.json['data']).toEqual([
      expect.objectContaining({ ...message('Hello'), id: list.json['first_id'] }),
    ]);
  });

  it('keeps what a stream ended with', async () => {
    const stream = await respond({ input: 'Hello', stream: true });
    const last = /data: (\{"type":"response.completed".*)\n/.exec(stream.text)?.[1] ?? '';
    const { response } = JSON.parse(last) as { response: { id: string } };
    const got = await get(`/v1/responses/${response.id}`);
    expect(got.json).toEqual(response);
  });

  it('keeps nothing a client does not want, nor what is not final, nor errors', async () => {
    const made = await respond({ input: 'Hello', store: false });
    expect((await get(`/v1/responses/${made.json['id']}`)).status).toBe(404);
    for (const body of [
      { id: 'resp_queued', object: 'response', status: 'queued' },
      { id: 'resp x y', status: 'completed' },
      [{ id: 'resp_list', status: 'completed' }],
      'not JSON "id":"resp_text"',
    ]) {
      engine.behave({ route: '/v1/responses', times: 1, body });
      expect((await respond({ input: 'Hello' })).status).toBe(200);
    }
    engine.behave({
      route: '/v1/responses',
      times: 1,
      status: 400,
      body: { id: 'resp_bad', status: 'completed' },
    });
    expect((await respond({ input: 'Hello' })).status).toBe(400);
    for (const id of ['resp_queued', 'resp%20x%20y', 'resp_list', 'resp_text', 'resp_bad']) {
      expect((await get(`/v1/responses/${id}`)).status).toBe(404);
    }
  });

  it('keeps integers no double can hold, and an answer larger than the hold', async () => {
    const body = `{"id":"resp_big","status":"completed","n":12345678901234567890,"pad":"${'x'.repeat(3_000_000)}"}`;
    engine.behave({ route: '/v1/responses', times: 1, body });
    const made = await respond({ input: 'Hello' });
    expect(made.text).toBe(body);
    expect((await get('/v1/responses/resp_big')).text).toBe(body);
  });

  it('keeps no answer that broke off', async () => {
    const text = 'data: {"type":"response.completed","response":{"id":"resp_cut","output":[]}}';
    engine.behave({
      route: '/v1/responses',
      times: 1,
      chunks: [text],
      cut: { how: 'reset', at: 60 },
    });
    const { incoming } = await open(`${running.url}/v1/responses`, {
      body: { model: MODEL, input: 'Hello', stream: true },
    });
    incoming.resume();
    await new Promise((resolve) => incoming.once('close', resolve));
    expect((await get('/v1/responses/resp_cut')).status).toBe(404);
  });

  it('never gives an id meaning it has not', async () => {
    for (const id of ['%00', '..%2f..', 'a'.repeat(2000), '%20', '__proto__', 'constructor']) {
      expect((await get(`/v1/responses/${id}`)).status).toBe(404);
      expect((await get(`/v1/conversations/${id}`)).status).toBe(404);
    }
  });

  it('sends the engine what the client sent, byte for byte', async () => {
    const body = `{ "model":"${MODEL}", "input":"x", "previous_response_id":"resp_1", "store":true, "seed":12345678901234567890 }`;
    await post('/v1/responses', body);
    expect(engine.requestsTo('/v1/responses').at(-1)?.body.toString()).toBe(body);
  });

  it('reads bodies as the other routes do', async () => {
    expect((await call('/v1/conversations', { method: 'POST' })).status).toBe(200);
    for (const [type, body] of [
      ['text/plain', '{}'],
      ['application/json', '{'],
      ['application/json', 'null'],
      ['application/json', '[]'],
    ]) {
      const refused = await post('/v1/conversations', body, { 'content-type': type });
      expect([type, body, refused.status]).toEqual([type, body, 400]);
    }
    const head = await call(`/v1/conversations/${await newConversation()}`, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    const wrong = await call('/v1/conversations', { method: 'GET' });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'POST']);
  });

  it('an answer becomes part of its conversation, in order', async () => {
    const id = await newConversation();
    for (const text of ['one', 'two']) {
      await respond({ input: [message(text)], conversation: text === 'one' ? id : { id } });
    }
    const list = await get(`/v1/conversations/${id}/items?order=asc`);
    const roles = list.json['data'].map((it: { role: string }) => it.role);
    expect(roles).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(list.json['data'][2].content[0].text).toBe('two');
    // A client that sends the whole history again adds what is new.
    await respond({ input: [...list.json['data'], message('three')], conversation: id });
    const after = await get(`/v1/conversations/${id}/items`);
    expect(after.json['data']).toHaveLength(6);
    // Nobody makes a conversation by naming it.
    await respond({ input: 'x', conversation: 'conv_nobody' });
    expect((await get('/v1/conversations/conv_nobody')).status).toBe(404);
  });
});

const postgres = findPostgres();
const redis = findRedis();
const BACKENDS: { name: 'memory' | 'postgres' | 'redis'; database?: () => Promise<Database> }[] = [
  { name: 'memory' },
];
if (postgres !== undefined)
  BACKENDS.push({ name: 'postgres', database: () => startPostgres(postgres) });
if (redis !== undefined) BACKENDS.push({ name: 'redis', database: () => startRedis(redis) });

const historyOf = (name: (typeof BACKENDS)[number]['name'], url: string | undefined) =>
  url === undefined ? { backend: name } : { backend: name, postgresDbUrl: url, redisUrl: url };

describe.each(BACKENDS)('conversations in $name', ({ name, database: makeDatabase }) => {
  let database: Database | undefined;

  beforeAll(async () => {
    database = await makeDatabase?.();
    await start({
      history: historyOf(name, database?.url),
      auth: {
        apiKey: 'shared-key',
        tenantApiKeys: [
          { tenantId: 'acme', key: 'acme-key' },
          { tenantId: 'globex', key: 'globex-key' },
        ],
      },
    });
  }, 60_000);
  afterAll(async () => {
    await stop();
    await database?.stop();
  });

  const acme = bearer('acme-key');
  const globex = bearer('globex-key');

  it('[G42] is made, read, changed and deleted', async () => {
    const made = await post('/v1/conversations', { metadata: { topic: 'demo', n: 1 } }, acme);
    expect(made.status).toBe(200);
    expect(made.json).toEqual({
      id: expect.stringMatching(/^conv_[0-9a-f]{48}$/),
      object: 'conversation',
      created_at: expect.any(Number),
      metadata: { topic: 'demo', n: 1 },
    });
    const path = `/v1/conversations/${made.json['id']}`;
    expect((await get(path, acme)).json).toEqual(made.json);
    const changed = await post(path, { metadata: { topic: 'new', extra: 'x', n: null } }, acme);
    expect(changed.json).toEqual({ ...made.json, metadata: { topic: 'new', extra: 'x' } });
    expect((await get(path, acme)).json).toEqual(changed.json);
    expect((await remove(path, acme)).json).toEqual({
      id: made.json['id'],
      object: 'conversation.deleted',
      deleted: true,
    });
    const gone = await get(path, acme);
    expect(gone.status).toBe(404);
    expect(typeof gone.json['error']).toBe('string');
    expect((await remove(path, acme)).status).toBe(404);
    expect((await post(path, { metadata: {} }, acme)).status).toBe(404);
  });

  it('has no metadata when none was given, and takes no more than 16 keys', async () => {
    const bare = await post('/v1/conversations', {}, acme);
    expect(bare.json).not.toHaveProperty('metadata');
    const keys = (from: number, to: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: to - from }, (_, i) => [`k${from + i}`, 'v']));
    expect((await post('/v1/conversations', { metadata: keys(0, 17) }, acme)).status).toBe(400);
    const path = `/v1/conversations/${await newConversation({ metadata: keys(0, 10) }, acme)}`;
    const tooMany = await post(path, { metadata: keys(10, 17) }, acme);
    expect(tooMany.status).toBe(400);
    expect(tooMany.json['error']).toContain('16');
    expect(Object.keys((await get(path, acme)).json['metadata'])).toHaveLength(10);
    expect((await post(path, { metadata: keys(10, 16) }, acme)).status).toBe(200);
  });

  it('[G42] refuses 25 items and unsupported types, with nothing added', async () => {
    const path = `/v1/conversations/${await newConversation({}, acme)}/items`;
    const many = Array.from({ length: 25 }, (_, i) => message(`m${i}`));
    const refused = await post(path, { items: many }, acme);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('20');
    const odd = await post(path, { items: [message('x'), { type: 'poem' }] }, acme);
    expect(odd.status).toBe(400);
    expect(odd.json['error']).toContain('poem');
    for (const body of [
      {},
      { items: 'x' },
      { items: [1] },
      [],
      'null',
      { items: [{ type: 'item_reference' }] },
    ]) {
      expect((await post(path, body, acme)).status).toBe(400);
    }
    expect((await get(path, acme)).json).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('pages through its items', async () => {
    const path = `/v1/conversations/${await newConversation({}, acme)}/items`;
    const added = await post(path, { items: ['a', 'b', 'c'].map((text) => message(text)) }, acme);
    expect(added.status).toBe(200);
    const ids = added.json['data'].map(({ id }: { id: string }) => id);
    expect(added.json).toMatchObject({ object: 'list', first_id: ids[0], last_id: ids[2] });
    const idsOf = (answer: Answer): string[] =>
      answer.json['data'].map(({ id }: { id: string }) => id);
    expect(idsOf(await get(path, acme))).toEqual([ids[2], ids[1], ids[0]]);
    const first = await get(`${path}?order=asc&limit=2`, acme);
    expect(idsOf(first)).toEqual([ids[0], ids[1]]);
    expect(first.json).toMatchObject({ first_id: ids[0], last_id: ids[1], has_more: true });
    const second = await get(`${path}?order=asc&limit=2&after=${ids[1]}`, acme);
    expect(idsOf(second)).toEqual([ids[2]]);
    expect(second.json['has_more']).toBe(false);
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'order=up',
      'after=nobody',
      'limit=1&limit=2',
    ]) {
      expect((await get(`${path}?${query}`, acme)).status).toBe(400);
    }
    const one = await get(`${path}/${ids[1]}`, acme);
    expect(one.json).toEqual({ ...message('b'), id: ids[1] });
    expect((await get(`${path}/msg_nobody`, acme)).status).toBe(404);
  });

  it('[G42] shares items, and does not take one twice', async () => {
    const first = `/v1/conversations/${await newConversation({ items: [message('shared')] }, acme)}`;
    const second = `/v1/conversations/${await newConversation({}, acme)}`;
    const itemId = (await get(`${first}/items`, acme)).json['first_id'];
    const linked = await post(
      `${second}/items`,
      { items: [{ type: 'item_reference', id: itemId }] },
      acme,
    );
    expect(linked.json['data']).toEqual([{ ...message('shared'), id: itemId }]);
    const again = await post(
      `${second}/items`,
      { items: [{ type: 'item_reference', id: itemId }] },
      acme,
    );
    expect(again.status).toBe(400);
    expect(again.json['error']).toMatchObject({ code: 'item_already_in_conversation' });
    const unknown = { items: [{ type: 'item_reference', id: 'msg_nobody' }] };
    expect((await post(`${second}/items`, unknown, acme)).status).toBe(404);
    const removed = await remove(`${first}/items/${itemId}`, acme);
    expect(removed.json).toMatchObject({ object: 'conversation' });
    expect((await get(`${first}/items/${itemId}`, acme)).status).toBe(404);
    expect((await remove(`${first}/items/${itemId}`, acme)).status).toBe(404);
    expect((await get(`${second}/items/${itemId}`, acme)).status).toBe(200);
  });

  it('a conversation that cannot have its first items is not made', async () => {
    const items = [{ type: 'item_reference', id: 'msg_nobody' }];
    expect((await post('/v1/conversations', { items }, acme)).status).toBe(404);
  });

  it('shows no tenant what another has made', async () => {
    const id = await newConversation({ items: [message('secret')] }, acme);
    const path = `/v1/conversations/${id}`;
    const itemId = (await get(`${path}/items`, acme)).json['first_id'];
    const made = await respond({ input: 'secret', conversation: id }, acme);
    const response = `/v1/responses/${made.json['id']}`;
    expect((await get(response, acme)).status).toBe(200);
    for (const stranger of [globex, bearer('shared-key')]) {
      for (const url of [
        path,
        `${path}/items`,
        `${path}/items/${itemId}`,
        response,
        `${response}/input_items`,
      ]) {
        const answer = await get(url, stranger);
        expect(answer.status).toBe(404);
        expect(answer.text).not.toContain('secret');
      }
      const reference = { items: [{ type: 'item_reference', id: itemId }] };
      const own = `/v1/conversations/${await newConversation({}, stranger)}/items`;
      expect((await post(own, reference, stranger)).status).toBe(404);
      expect((await post(path, { metadata: { a: 'b' } }, stranger)).status).toBe(404);
      expect((await post(`${path}/items`, { items: [message('x')] }, stranger)).status).toBe(404);
      expect((await remove(`${path}/items/${itemId}`, stranger)).status).toBe(404);
      expect((await remove(path, stranger)).status).toBe(404);
      expect((await remove(response, stranger)).status).toBe(404);
      // Nor does a request of theirs write into it.
      await respond({ input: 'intruder', conversation: id }, stranger);
    }
    expect((await get(response, acme)).status).toBe(200);
    expect((await get(`${path}/items`, acme)).text).not.toContain('intruder');
    expect((await get(path)).status).toBe(401);
  });

  it('counts what it does, in smg_db_*', async () => {
    const id = await newConversation({}, acme);
    await get('/v1/conversations/conv_nobody', acme);
    await get(`/v1/conversations/${id}/items`, acme);
    const text = await running.metrics();
    for (const line of [
      /smg_db_operations_total\{storage_type="conversation",operation="put",result="success"\} \d/,
      /smg_db_operations_total\{storage_type="conversation",operation="get",result="not_found"\} \d/,
      /smg_db_operations_total\{storage_type="conversation_item",operation="list",result="success"\} \d/,
      /smg_db_operation_duration_seconds_count\{storage_type="conversation",operation="put"\} \d/,
      /smg_db_items_stored\{storage_type="conversation"\} \d/,
    ]) {
      expect(text).toMatch(line);
    }
    if (name !== 'memory') {
      expect(text).toMatch(
        new RegExp(String.raw`smg_db_connections_active\{storage_type="${name}"\} [1-9]`),
      );
    }
  });

  if (name === 'memory') return;

  it('answers 500 storage_error while the database hangs or is gone, and serves inference', async () => {
    const id = await newConversation({}, acme);
    const path = `/v1/conversations/${id}`;
    database?.freeze(true);
    const startedAt = performance.now();
    const hung = await get(path, acme);
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    expect(hung.status).toBe(500);
    expect(hung.headers['x-smg-error-code']).toBe('storage_error');
    // An answer does not wait for the store.
    const before = performance.now();
    const made = await respond({ input: 'Hello' }, acme);
    expect(made.status).toBe(200);
    expect(performance.now() - before).toBeLessThan(2000);
    database?.freeze(false);
    await until('the store answers again', async () => (await get(path, acme)).status === 200);
    await database?.kill();
    const dead = await get(path, acme);
    expect(dead.status).toBe(500);
    expect(dead.json['error']).toMatchObject({ code: 'storage_error' });
    await database?.restart();
    await until('the store is back', async () => (await get(path, acme)).status === 200);
    const everything = running.rawLogs.join('') + hung.text + dead.text + (await running.metrics());
    for (const secret of DATABASE_SECRETS) expect(everything).not.toContain(secret);
    expect(running.rawLogs.join('')).toContain('the store failed to get a conversation');
  }, 60_000);
});

describe('the start with a database that is not there', () => {
  it.each([
    ['postgres', 'postgres://u:do-not-show@127.0.0.1', /cannot use the PostgreSQL database at 127/],
    ['redis', 'redis://u:do-not-show@127.0.0.1', /cannot use the Redis server at 127/],
  ] as const)('%s: fails and says why', async (backend, base, message_) => {
    const port = await unusedPort();
    const url = `${base}:${port}/x`;
    const attempt = startGateway({ history: historyOf(backend, url) });
    await expect(attempt).rejects.toThrow(message_);
    await expect(attempt).rejects.not.toThrow(/do-not-show/);
  });
});

describe('--history-backend none', () => {
  beforeAll(() => start({ history: { backend: 'none' } }));
  afterAll(stop);

  it('keeps nothing, and has no routes for it', async () => {
    const made = await respond({ input: 'Hello' });
    expect(made.status).toBe(200);
    expect((await get(`/v1/responses/${made.json['id']}`)).status).toBe(404);
    const conversation = await post('/v1/conversations', {});
    expect(conversation.status).toBe(404);
    expect(conversation.text).toBe('');
    expect(await running.metrics()).not.toContain('smg_db_');
  });
});

function unusedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}
