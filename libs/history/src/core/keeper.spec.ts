import { AnswerKeeper, type KeeperLimits } from './answer-keeper';
import { type HistoryStore, type StoredResponse } from './history-store';
import { MemoryStore } from './memory.store';
import { ObservedStore, type StoreClock } from './observed.store';
import { ConversationError, StorageError } from './history-errors';

const LIMITS: KeeperLimits = { answerBytes: 10_000, waitingLength: 10_000 };
const memory = (): MemoryStore => new MemoryStore({ entries: 1000, bytes: 1e9 });
let counter = 0;
const random = (): string => String((counter += 1));

function keeperOf(
  store: HistoryStore,
  limits = LIMITS,
): { keeper: AnswerKeeper; dropped: string[] } {
  const dropped: string[] = [];
  const onDropped = (reason: string): unknown => dropped.push(reason);
  return { keeper: new AnswerKeeper({ store, random, limits, onDropped }), dropped };
}

function answer(keeper: AnswerKeeper, json: object, body: object, tenant?: string): void {
  const recording = keeper.recordingOf({
    endpoint: 'responses',
    requestId: 'r',
    authenticatedTenant: tenant,
    json: json as Record<string, unknown>,
  });
  recording?.begin(false);
  recording?.see(Buffer.from(JSON.stringify(body)));
  recording?.complete();
}

/** A store whose writes wait until they are let go. */
class SlowStore extends MemoryStore {
  private gates: (() => void)[] = [];

  constructor() {
    super({ entries: 1000, bytes: 1e9 });
  }

  override async putResponse(owner: string, response: StoredResponse): Promise<void> {
    await new Promise<void>((resolve) => this.gates.push(resolve));
    await super.putResponse(owner, response);
  }

  letGo(): void {
    for (const open of this.gates.splice(0)) open();
  }
}

describe('AnswerKeeper', () => {
  it('looks at answers of /v1/responses alone, unless the client wants none kept', () => {
    const { keeper } = keeperOf(memory());
    const base = { requestId: 'r', authenticatedTenant: undefined };
    expect(keeper.recordingOf({ ...base, endpoint: 'chat', json: {} })).toBeUndefined();
    const not = { ...base, endpoint: 'responses', json: { store: false } } as const;
    expect(keeper.recordingOf(not)).toBeUndefined();
    const odd = { ...base, endpoint: 'responses', json: { store: null } } as const;
    expect(keeper.recordingOf(odd)).toBeDefined();
  });

  it('makes whoever asks wait for what is being written', async () => {
    const store = new SlowStore();
    const { keeper } = keeperOf(store);
    answer(keeper, { input: 'x' }, { id: 'resp_1' }, 'auth:a');
    expect(keeper.settled('auth:b', 'resp_1')).toBeUndefined();
    const settled = keeper.settled('auth:a', 'resp_1');
    expect(settled).toBeDefined();
    await Promise.resolve();
    store.letGo();
    await settled;
    expect(await store.response('auth:a', 'resp_1')).toBeDefined();
    expect(keeper.settled('auth:a', 'resp_1')).toBeUndefined();
  });

  it('keeps the latest of two answers of one id', async () => {
    const store = new SlowStore();
    const { keeper } = keeperOf(store);
    answer(keeper, { input: 'x' }, { id: 'resp_1', n: 1 });
    answer(keeper, { input: 'x' }, { id: 'resp_1', n: 2 });
    for (let i = 0; i < 20; i += 1) {
      await Promise.resolve();
      store.letGo();
    }
    await keeper.drained();
    expect((await store.response('', 'resp_1'))?.body).toContain('"n":2');
  });

  it('drops what would wait beyond the limit, says so, and takes more later', async () => {
    const store = new SlowStore();
    const { keeper, dropped } = keeperOf(store, { ...LIMITS, waitingLength: 420 });
    for (const id of ['a', 'b', 'c']) answer(keeper, { input: 'x' }, { id, text: 'y'.repeat(50) });
    expect(dropped).toEqual(['too much waits for the store']);
    await Promise.resolve();
    await Promise.resolve();
    store.letGo();
    await keeper.drained();
    answer(keeper, { input: 'x' }, { id: 'd' });
    expect(keeper.settled('', 'd')).toBeDefined();
  });

  it('outlives a store that fails', async () => {
    const store = memory();
    store.putResponse = () => Promise.reject(new Error('down'));
    const { keeper } = keeperOf(store);
    answer(keeper, { input: 'x' }, { id: 'resp_1' });
    await keeper.drained();
    expect(keeper.settled('', 'resp_1')).toBeUndefined();
  });

  it('adds a turn to its conversation: what is new, without references, not when it failed', async () => {
    const store = memory();
    const { keeper } = keeperOf(store);
    await store.putConversation('', { id: 'conv_1', createdAt: 1, metadata: undefined });
    const input = [
      { type: 'item_reference', id: 'elsewhere' },
      { type: 'message', id: 'm1', content: 'x' },
      { type: 'message', id: 'm1', content: 'again' },
    ];
    const output = [{ type: 'message', id: 'm2' }, 'odd'];
    answer(keeper, { input, conversation: 'conv_1' }, { id: 'resp_1', output });
    await keeper.drained();
    answer(
      keeper,
      { input, conversation: { id: 'conv_1' } },
      { id: 'resp_2', output: [{ id: 'm3' }] },
    );
    answer(keeper, { input: 'y', conversation: 'conv_1' }, { id: 'resp_3', status: 'failed' });
    await keeper.drained();
    const found = await store.items('', 'conv_1', { limit: 100, order: 'asc', after: undefined });
    const ids = found.kind === 'page' ? found.items.map(({ id }) => id) : [];
    expect(ids).toEqual(['m1', 'm2', 'm3']);
  });
});

describe('ObservedStore', () => {
  interface Alarm {
    ring: () => void;
    isSet: boolean;
  }
  function observed(inner: HistoryStore) {
    const seen: string[] = [];
    const alarms: Alarm[] = [];
    let time = 0;
    const clock: StoreClock = {
      now: () => (time += 500),
      alarm: (_ms, ring) => {
        const alarm = { ring, isSet: true };
        alarms.push(alarm);
        return () => {
          alarm.isSet = false;
        };
      },
    };
    const observer = {
      done: (...parts: unknown[]) => seen.push(parts.join(' ')),
      failed: (type: string, operation: string, cause: unknown) =>
        seen.push(`failed ${type} ${operation} ${String(cause)}`),
    };
    return { store: new ObservedStore(inner, observer, clock, 1000), seen, alarms };
  }

  it('counts what was found, written and missing', async () => {
    const { store, seen, alarms } = observed(memory());
    await store.putResponse('', { id: 'r', body: '{}', inputItems: '[]' });
    await store.response('', 'r');
    await store.response('', 'nobody');
    await store.deleteResponse('', 'nobody');
    await store.putConversation('', { id: 'c', createdAt: 1, metadata: undefined });
    await store.addItems('', 'c', [
      { kind: 'item', id: 'a', body: '{}' },
      { kind: 'item', id: 'b', body: '{}' },
    ]);
    await store.changeMetadata('', 'nobody', (old) => old);
    await store.items('', 'nobody', { limit: 1, order: 'asc', after: undefined });
    expect(seen).toEqual([
      'response put success 0.5 1',
      'response get success 0.5 0',
      'response get not_found 0.5 0',
      'response delete not_found 0.5 0',
      'conversation put success 0.5 1',
      'conversation_item put success 0.5 2',
      'conversation put not_found 0.5 0',
      'conversation_item list not_found 0.5 0',
    ]);
    expect(alarms.every(({ isSet }) => !isSet)).toBe(true);
  });

  it('turns a failure into one error without its cause in the message', async () => {
    const inner = memory();
    inner.response = () => Promise.reject(new Error('relation of user smg'));
    const { store, seen } = observed(inner);
    const failure = await store.response('', 'r').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(String(failure)).not.toContain('smg');
    expect(seen).toEqual([
      'response get error 0.5 0',
      'failed response get Error: relation of user smg',
    ]);
  });

  it('waits no longer than its deadline', async () => {
    const inner = memory();
    inner.response = () => new Promise(() => undefined);
    const { store, seen, alarms } = observed(inner);
    const asked = store.response('', 'r');
    alarms[0]?.ring();
    await expect(asked).rejects.toBeInstanceOf(StorageError);
    expect(seen[0]).toBe('response get timeout 0.5 0');
  });

  it('lets a refusal of the law through', async () => {
    const inner = memory();
    await inner.putConversation('', { id: 'c', createdAt: 1, metadata: undefined });
    const { store, seen } = observed(inner);
    const refusal = new ConversationError(400, 'too many');
    await expect(
      store.changeMetadata('', 'c', () => {
        throw refusal;
      }),
    ).rejects.toBe(refusal);
    expect(seen).toEqual(['conversation put success 0.5 0']);
  });
});
