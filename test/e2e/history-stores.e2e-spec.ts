import { Client } from 'pg';
import {
  type HistoryStore,
  type ItemToAdd,
  type PageQuery,
  makeStore,
  MemoryStore,
} from '@smg/history';
import {
  type Database,
  DATABASE_SECRETS,
  findPostgres,
  findRedis,
  startPostgres,
  startRedis,
} from '../support/databases';

const OPTIONS = { postgresPoolMaxSize: 4, redisPoolMaxSize: 3, redisRetentionDays: 30 };
const LISTENER = { onConnections: () => undefined, onFault: () => undefined };
const postgres = findPostgres();
const redis = findRedis();

const body = (id: string, text = 'x'): string => JSON.stringify({ id, type: 'message', text });
const item = (id: string, text?: string): ItemToAdd => ({ kind: 'item', id, body: body(id, text) });
const reference = (id: string): ItemToAdd => ({ kind: 'reference', id });
const page = (over: object = {}): PageQuery => ({
  limit: 100,
  order: 'asc',
  after: undefined,
  ...over,
});

interface Backend {
  readonly name: 'memory' | 'postgres' | 'redis';
  readonly start: () => Promise<Database | undefined>;
}

const BACKENDS: readonly Backend[] = [
  { name: 'memory', start: () => Promise.resolve(undefined) },
  ...(postgres === undefined
    ? []
    : [{ name: 'postgres' as const, start: () => startPostgres(postgres) }]),
  ...(redis === undefined ? [] : [{ name: 'redis' as const, start: () => startRedis(redis) }]),
];

const storeFor = (
  name: Backend['name'],
  url: string | undefined,
  more: object = {},
): HistoryStore =>
  makeStore({ ...OPTIONS, backend: name, postgresDbUrl: url, redisUrl: url, ...more }, LISTENER);

describe.each(BACKENDS)('the $name store', ({ name, start }) => {
  let database: Database | undefined;
  let store: HistoryStore;
  /** Every test has owners of its own: it sees nothing of the others. */
  let me: string;
  let other: string;
  let count = 0;

  beforeAll(async () => {
    database = await start();
    store = storeFor(name, database?.url);
    await store.open();
  }, 60_000);
  afterAll(async () => {
    await store.close();
    await database?.stop();
  });
  beforeEach(() => {
    count += 1;
    me = `auth:acme {${count}}:%'"`;
    other = `auth:acme {${count}}:`;
  });

  const conversation = async (id = 'conv_1', owner = me): Promise<void> => {
    await store.putConversation(owner, { id, createdAt: 1_700_000_000, metadata: undefined });
  };
  const idsOf = async (id: string, over: object = {}, owner = me): Promise<string[]> => {
    const outcome = await store.items(owner, id, page(over));
    if (outcome.kind !== 'page') throw new Error(outcome.kind);
    return outcome.items.map((it) => it.id);
  };

  it('gives a response back as it came, to its owner alone, until it is deleted', async () => {
    const text = '{"id":"resp_1","big":12345678901234567890,"text":"\\u0000 é 🦜"}';
    await store.putResponse(me, { id: 'resp_1', body: text, inputItems: '[{"id":"msg_1"}]' });
    expect(await store.response(me, 'resp_1')).toEqual({
      id: 'resp_1',
      body: text,
      inputItems: '[{"id":"msg_1"}]',
    });
    expect(await store.response(other, 'resp_1')).toBeUndefined();
    expect(await store.deleteResponse(other, 'resp_1')).toBe(false);
    expect(await store.deleteResponse(me, 'resp_1')).toBe(true);
    expect(await store.deleteResponse(me, 'resp_1')).toBe(false);
    expect(await store.response(me, 'resp_1')).toBeUndefined();
  });

  it('replaces a response of the same id', async () => {
    await store.putResponse(me, { id: 'resp_1', body: '{"n":1}', inputItems: '[]' });
    await store.putResponse(me, { id: 'resp_1', body: '{"n":2}', inputItems: '[]' });
    expect((await store.response(me, 'resp_1'))?.body).toBe('{"n":2}');
  });

  it('keeps conversations, with and without metadata, to their owner', async () => {
    const metadata = { topic: 'demo', __proto__x: 1, flag: true };
    await store.putConversation(me, { id: 'conv_1', createdAt: 1_700_000_000, metadata });
    await conversation('conv_2');
    const first = await store.conversation(me, 'conv_1');
    expect(first).toEqual({ id: 'conv_1', createdAt: 1_700_000_000, metadata });
    expect((await store.conversation(me, 'conv_2'))?.metadata).toBeUndefined();
    expect(await store.conversation(other, 'conv_1')).toBeUndefined();
  });

  it('changes metadata, and nothing when the change refuses or nobody is there', async () => {
    await conversation();
    const changed = await store.changeMetadata(me, 'conv_1', () => ({ a: '1' }));
    expect(changed?.metadata).toEqual({ a: '1' });
    const refusal = new Error('too many keys');
    await expect(
      store.changeMetadata(me, 'conv_1', () => {
        throw refusal;
      }),
    ).rejects.toBe(refusal);
    expect((await store.conversation(me, 'conv_1'))?.metadata).toEqual({ a: '1' });
    expect(await store.changeMetadata(other, 'conv_1', () => ({ b: '2' }))).toBeUndefined();
    expect(await store.changeMetadata(me, 'conv_9', () => ({ b: '2' }))).toBeUndefined();
  });

  it('loses none of many changes at once', async () => {
    await conversation();
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(
      keys.map((key) => store.changeMetadata(me, 'conv_1', (old) => ({ ...old, [key]: key }))),
    );
    const after = (await store.conversation(me, 'conv_1'))?.metadata;
    expect(Object.keys(after ?? {}).sort()).toEqual(keys);
  });

  it('adds items in order and answers with them', async () => {
    await conversation();
    const outcome = await store.addItems(me, 'conv_1', [item('i1'), item('i2', 'two')]);
    expect(outcome).toEqual({
      kind: 'added',
      items: [
        { id: 'i1', body: body('i1') },
        { id: 'i2', body: body('i2', 'two') },
      ],
    });
    expect(await store.item(me, 'conv_1', 'i2')).toEqual({ id: 'i2', body: body('i2', 'two') });
    expect(await store.item(me, 'conv_1', 'i9')).toBeUndefined();
    expect(await store.item(other, 'conv_1', 'i1')).toBeUndefined();
  });

  it('adds all or nothing', async () => {
    await conversation();
    await store.addItems(me, 'conv_1', [item('i1')]);
    expect(await store.addItems(me, 'conv_1', [item('i2'), item('i1')])).toEqual({
      kind: 'duplicate',
      id: 'i1',
    });
    expect(await store.addItems(me, 'conv_1', [item('i3'), reference('nobody')])).toEqual({
      kind: 'unknown_item',
      id: 'nobody',
    });
    expect(await idsOf('conv_1')).toEqual(['i1']);
    // Nothing of the refused calls is left behind.
    expect((await store.addItems(me, 'conv_1', [reference('i2')])).kind).toBe('unknown_item');
    expect((await store.addItems(me, 'conv_1', [reference('i3')])).kind).toBe('unknown_item');
  });

  it('adds nothing to a conversation that is not there, or is not yours', async () => {
    await conversation();
    expect((await store.addItems(me, 'conv_9', [item('i1')])).kind).toBe('no_conversation');
    expect((await store.addItems(other, 'conv_1', [item('i1')])).kind).toBe('no_conversation');
    expect((await store.items(other, 'conv_1', page())).kind).toBe('no_conversation');
  });

  it('refers to no item of another owner', async () => {
    await conversation('conv_1', other);
    await store.addItems(other, 'conv_1', [item('theirs')]);
    await conversation();
    expect((await store.addItems(me, 'conv_1', [reference('theirs')])).kind).toBe('unknown_item');
    await store.addItems(me, 'conv_1', [item('theirs', 'mine')]);
    expect((await store.item(other, 'conv_1', 'theirs'))?.body).toBe(body('theirs'));
    expect((await store.item(me, 'conv_1', 'theirs'))?.body).toBe(body('theirs', 'mine'));
  });

  it('pages in both orders', async () => {
    await conversation();
    await store.addItems(
      me,
      'conv_1',
      ['a', 'b', 'c', 'd', 'e'].map((id) => item(id)),
    );
    expect(await idsOf('conv_1', { order: 'desc' })).toEqual(['e', 'd', 'c', 'b', 'a']);
    expect(await idsOf('conv_1', { limit: 2 })).toEqual(['a', 'b']);
    expect(await idsOf('conv_1', { limit: 2, after: 'b' })).toEqual(['c', 'd']);
    expect(await idsOf('conv_1', { limit: 2, after: 'd' })).toEqual(['e']);
    expect(await idsOf('conv_1', { order: 'desc', limit: 2, after: 'd' })).toEqual(['c', 'b']);
    expect(await idsOf('conv_1', { after: 'e' })).toEqual([]);
    expect((await store.items(me, 'conv_1', page({ limit: 5 }))).kind).toBe('page');
    expect(await store.items(me, 'conv_1', page({ limit: 5 }))).toHaveProperty('isFull', true);
    expect(await store.items(me, 'conv_1', page({ limit: 6 }))).toHaveProperty('isFull', false);
    expect((await store.items(me, 'conv_1', page({ after: 'nobody' }))).kind).toBe('unknown_item');
  });

  it('shares an item, which lives as long as a conversation has it', async () => {
    await conversation('conv_1');
    await conversation('conv_2');
    await store.addItems(me, 'conv_1', [item('shared'), item('own')]);
    await store.addItems(me, 'conv_2', [reference('shared')]);
    // A new item of a known id is the known one.
    await conversation('conv_3');
    await store.addItems(me, 'conv_3', [item('own', 'another text')]);
    expect((await store.item(me, 'conv_3', 'own'))?.body).toBe(body('own'));
    expect(await store.removeItem(me, 'conv_3', 'own')).toBe(true);

    expect(await store.deleteConversation(other, 'conv_1')).toBe(false);
    expect(await store.deleteConversation(me, 'conv_1')).toBe(true);
    expect(await store.deleteConversation(me, 'conv_1')).toBe(false);
    expect(await idsOf('conv_2')).toEqual(['shared']);
    expect((await store.addItems(me, 'conv_2', [reference('own')])).kind).toBe('unknown_item');

    expect(await store.removeItem(other, 'conv_2', 'shared')).toBe(false);
    expect(await store.removeItem(me, 'conv_2', 'shared')).toBe(true);
    expect(await store.removeItem(me, 'conv_2', 'shared')).toBe(false);
    expect(await idsOf('conv_2')).toEqual([]);
    expect((await store.addItems(me, 'conv_2', [reference('shared')])).kind).toBe('unknown_item');
  });

  it('begins a conversation of an old name anew', async () => {
    await conversation();
    await store.addItems(me, 'conv_1', [item('i1')]);
    await store.deleteConversation(me, 'conv_1');
    expect(await store.conversation(me, 'conv_1')).toBeUndefined();
    await conversation();
    expect(await idsOf('conv_1')).toEqual([]);
  });

  it('stays right while one adds what another takes away', async () => {
    await conversation('conv_1');
    await conversation('conv_2');
    for (let round = 0; round < 15; round += 1) {
      await store.addItems(me, 'conv_1', [item('hot')]);
      const [linked] = await Promise.all([
        store.addItems(me, 'conv_2', [reference('hot')]),
        store.removeItem(me, 'conv_1', 'hot'),
      ]);
      expect(await store.item(me, 'conv_1', 'hot')).toBeUndefined();
      // Either it was linked in time and is there, or it was gone.
      const isThere = (await store.item(me, 'conv_2', 'hot')) !== undefined;
      expect(isThere).toBe(linked.kind === 'added');
      if (isThere) await store.removeItem(me, 'conv_2', 'hot');
    }
  });

  it('adds many at once without losing or doubling any', async () => {
    await conversation();
    const ids = Array.from({ length: 12 }, (_, i) => `n${i}`);
    await Promise.all(ids.map((id) => store.addItems(me, 'conv_1', [item(id)])));
    expect((await idsOf('conv_1')).sort()).toEqual([...ids].sort());
    const same = await Promise.all([1, 2, 3].map(() => store.addItems(me, 'conv_1', [item('x')])));
    expect(same.map(({ kind }) => kind).sort()).toEqual(['added', 'duplicate', 'duplicate']);
  });

  if (name === 'memory') return;

  it('keeps entries over a restart of the gateway, and makes its schema once', async () => {
    await store.putResponse(me, { id: 'resp_1', body: '{}', inputItems: '[]' });
    const again = [1, 2, 3].map(() => storeFor(name, database?.url));
    await Promise.all(again.map((it) => it.open()));
    expect(await again[0]?.response(me, 'resp_1')).toBeDefined();
    await Promise.all(again.map((it) => it.close()));
  });

  it('fails while the server is away, in time and without its password, and recovers', async () => {
    const down = new Set<string>();
    const watched = makeStore(
      { ...OPTIONS, backend: name, postgresDbUrl: database?.url, redisUrl: database?.url },
      { onConnections: () => undefined, onFault: (message) => down.add(message) },
    );
    await watched.open();
    await watched.putResponse(me, { id: 'resp_1', body: '{}', inputItems: '[]' });
    await database?.kill();
    const startedAt = performance.now();
    await expect(watched.response(me, 'resp_1')).rejects.toThrow();
    expect(performance.now() - startedAt).toBeLessThan(9000);
    const atStart = storeFor(name, database?.url);
    await expect(atStart.open()).rejects.toThrow(
      /^cannot use the (?:PostgreSQL database|Redis server) at 127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    );
    await atStart.close();
    await database?.restart();
    let isBack = false;
    for (let i = 0; i < 50 && !isBack; i += 1) {
      isBack = await watched.response(me, 'resp_1').then(
        (found) => found !== undefined,
        () => false,
      );
      if (!isBack) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(isBack).toBe(true);
    await watched.close();
    for (const secret of DATABASE_SECRETS) expect([...down].join()).not.toContain(secret);
  }, 60_000);
});

describe.each(BACKENDS.filter(({ name }) => name !== 'memory'))(
  'closing $name',
  ({ name, start }) => {
    it('does not wait for a server that hangs', async () => {
      const database = await start();
      const store = storeFor(name, database?.url);
      await store.open();
      database?.freeze(true);
      try {
        const startedAt = performance.now();
        await store.close();
        expect(performance.now() - startedAt).toBeLessThan(3000);
      } finally {
        database?.freeze(false);
        await database?.stop();
      }
    }, 30_000);
  },
);

(redis === undefined ? describe.skip : describe)('retention in Redis', () => {
  it('an entry goes when its days are over; a page steps over what has gone', async () => {
    const database = await startRedis(redis ?? '');
    const store = storeFor('redis', database.url, { redisRetentionDays: 1 / 86_400 });
    await store.open();
    try {
      await store.putConversation('me', { id: 'conv_1', createdAt: 1, metadata: undefined });
      await store.addItems('me', 'conv_1', [item('old')]);
      await new Promise((resolve) => setTimeout(resolve, 700));
      await store.addItems('me', 'conv_1', [item('new')]);
      await new Promise((resolve) => setTimeout(resolve, 600));
      const found = await store.items('me', 'conv_1', page({ limit: 1 }));
      expect(found).toEqual({
        kind: 'page',
        items: [{ id: 'new', body: body('new') }],
        isFull: true,
      });
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(await store.conversation('me', 'conv_1')).toBeUndefined();
    } finally {
      await store.close();
      await database.stop();
    }
  });

  it('refuses a wrong password without repeating it', async () => {
    const database = await startRedis(redis ?? '');
    const store = storeFor('redis', database.url.replace('p%40ss', 'wrong%40pass'));
    try {
      const failure = await store.open().catch((error: unknown) => String(error));
      expect(failure).toMatch(/cannot use the Redis server at 127\.0\.0\.1:\d+: .*WRONGPASS/);
      expect(failure).not.toMatch(/wrong(?:%40|@)pass/);
    } finally {
      await store.close();
      await database.stop();
    }
  });
});

(postgres === undefined ? describe.skip : describe)('PostgreSQL at the start', () => {
  let database: Database;
  beforeAll(async () => {
    database = await startPostgres(postgres ?? '');
  }, 60_000);
  afterAll(() => database.stop());

  it('refuses a wrong password without repeating it', async () => {
    const store = storeFor('postgres', database.url.replace('p%40ss', 'wrong%40pass'));
    const failure = await store.open().catch((error: unknown) => String(error));
    await store.close();
    expect(failure).toMatch(
      /cannot use the PostgreSQL database at 127\.0\.0\.1:\d+: password authentication failed/,
    );
    expect(failure).not.toMatch(/wrong(?:%40|@)pass/);
  });

  it('refuses tables of a newer gateway', async () => {
    const first = storeFor('postgres', database.url);
    await first.open();
    await first.close();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('INSERT INTO smg_history_schema (version) VALUES (99)');
    await client.end();
    const store = storeFor('postgres', database.url);
    await expect(store.open()).rejects.toThrow(
      /tables are of version 99, and this gateway knows 1/,
    );
    await store.close();
  });
});

describe('the memory store within its limits', () => {
  it('lets the entries used least recently go', async () => {
    const store = new MemoryStore({ entries: 3, bytes: 1e9 });
    for (const id of ['r1', 'r2', 'r3']) {
      await store.putResponse('me', { id, body: '{}', inputItems: '[]' });
    }
    await store.response('me', 'r1');
    await store.putResponse('me', { id: 'r4', body: '{}', inputItems: '[]' });
    expect(await store.response('me', 'r2')).toBeUndefined();
    expect(await store.response('me', 'r1')).toBeDefined();
  });

  it('counts bytes, and gives all of them back', async () => {
    const store = new MemoryStore({ entries: 1e6, bytes: 100_000 });
    for (let i = 0; i < 50; i += 1) {
      await store.putResponse('me', { id: `r${i}`, body: 'x'.repeat(4000), inputItems: '[]' });
    }
    expect(store.size.bytes).toBeLessThanOrEqual(100_000);
    expect(await store.response('me', 'r49')).toBeDefined();
    await store.putConversation('me', { id: 'c', createdAt: 1, metadata: { a: 'b' } });
    await store.addItems('me', 'c', [item('i1'), item('i2')]);
    await store.changeMetadata('me', 'c', () => ({ a: 'longer than before' }));
    await store.deleteConversation('me', 'c');
    for (let i = 0; i < 50; i += 1) await store.deleteResponse('me', `r${i}`);
    expect(store.size).toEqual({ entries: 0, bytes: 0 });
  });

  it('keeps the latest items of the one conversation that is too large', async () => {
    const store = new MemoryStore({ entries: 4, bytes: 1e9 });
    await store.putConversation('me', { id: 'c', createdAt: 1, metadata: undefined });
    for (let i = 0; i < 6; i += 1) await store.addItems('me', 'c', [item(`i${i}`)]);
    const found = await store.items('me', 'c', page());
    expect(found.kind === 'page' && found.items.map(({ id }) => id)).toEqual(['i3', 'i4', 'i5']);
  });
});
