import { describeFault, placeOf } from './connection-fault';
import {
  type AddOutcome,
  type HistoryStore,
  type ItemToAdd,
  type ListOutcome,
  type Metadata,
  type PageQuery,
  type StoredConversation,
  type StoredItem,
  type StoredResponse,
} from './core/history-store';
import { RedisPool, type RedisPoolOptions } from './redis.pool';
import {
  ADD_ITEMS,
  CHANGE_IF_SAME,
  DELETE_CONVERSATION,
  LIST_ITEMS,
  REMOVE_ITEM,
} from './redis.scripts';

/** Version of what is kept under {@link PREFIX}. */
const SCHEMA = 1;
const SCHEMA_KEY = 'smg:history:schema';
const PREFIX = `smg:history:${SCHEMA}:`;
const DAY_SECS = 86_400;
/** Seconds; a hundred years, which Redis can still add to its clock. */
const MAX_TTL = 36_500 * DAY_SECS;
/** Attempts at a change that others keep overtaking. */
const MAX_ATTEMPTS = 50;

export interface RedisStoreOptions extends RedisPoolOptions {
  /** Below 0 keeps for ever. */
  readonly retentionDays: number;
}

/** Keys of a conversation, in the order the scripts want them. */
interface ConversationKeys {
  readonly all: readonly [conversation: string, items: string, counter: string];
  readonly itemPrefix: string;
}

/** Keeps everything in Redis; what changes something in more than one place is a script. */
export class RedisStore implements HistoryStore {
  private readonly pool: RedisPool;
  /** Seconds; 0: for ever. */
  private readonly ttl: number;

  constructor(private readonly options: RedisStoreOptions) {
    this.pool = new RedisPool(options);
    const { retentionDays } = options;
    this.ttl = retentionDays < 0 ? 0 : Math.min(retentionDays * DAY_SECS, MAX_TTL);
  }

  async open(): Promise<void> {
    try {
      await this.pool.start();
      await this.checkSchema();
    } catch (error) {
      this.pool.close();
      const { url } = this.options;
      throw new Error(
        `cannot use the Redis server at ${placeOf(url)}: ${describeFault(error, url)}`,
      );
    }
  }

  close(): Promise<void> {
    this.pool.close();
    return Promise.resolve();
  }

  async putResponse(owner: string, { id, body, inputItems }: StoredResponse): Promise<void> {
    await this.set(responseKey(owner, id), JSON.stringify({ body, inputItems }));
  }

  async response(owner: string, id: string): Promise<StoredResponse | undefined> {
    const text = await this.pool.use((redis) => redis.get(responseKey(owner, id)));
    if (text === null) return undefined;
    return { id, ...(JSON.parse(text) as Omit<StoredResponse, 'id'>) };
  }

  async deleteResponse(owner: string, id: string): Promise<boolean> {
    return (await this.pool.use((redis) => redis.del(responseKey(owner, id)))) === 1;
  }

  async putConversation(owner: string, conversation: StoredConversation): Promise<void> {
    const [key] = keysOf(owner, conversation.id).all;
    await this.set(key, textOf(conversation));
  }

  async conversation(owner: string, id: string): Promise<StoredConversation | undefined> {
    const text = await this.text(owner, id);
    return text === null ? undefined : conversationOf(id, text);
  }

  async changeMetadata(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): Promise<StoredConversation | undefined> {
    const { all } = keysOf(owner, id);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const before = await this.text(owner, id);
      if (before === null) return undefined;
      const found = conversationOf(id, before);
      const changed = { ...found, metadata: change(found.metadata) };
      const after = textOf(changed);
      if ((await this.run(CHANGE_IF_SAME, all, [before, after, this.ttl])) === 1) return changed;
    }
    throw new Error('others keep changing this conversation');
  }

  async deleteConversation(owner: string, id: string): Promise<boolean> {
    const { all, itemPrefix } = keysOf(owner, id);
    return (await this.run(DELETE_CONVERSATION, all, [itemPrefix])) === 1;
  }

  async addItems(
    owner: string,
    conversationId: string,
    items: readonly ItemToAdd[],
  ): Promise<AddOutcome> {
    const { all, itemPrefix } = keysOf(owner, conversationId);
    const given = items.flatMap((item) => [
      item.kind,
      item.id,
      item.kind === 'item' ? item.body : '',
    ]);
    const [kind, ...rest] = textsOf(
      await this.run(ADD_ITEMS, all, [this.ttl, itemPrefix, ...given]),
    );
    if (kind === 'added') return { kind, items: pairsOf(rest) };
    if (kind === 'no_conversation') return { kind };
    return { kind: kind === 'duplicate' ? kind : 'unknown_item', id: rest[0] ?? '' };
  }

  async items(owner: string, conversationId: string, page: PageQuery): Promise<ListOutcome> {
    const { all, itemPrefix } = keysOf(owner, conversationId);
    const { limit, order, after = '' } = page;
    const keys = all.slice(0, 2);
    const answer = await this.run(LIST_ITEMS, keys, [itemPrefix, limit, order, after]);
    const [kind, ...rest] = textsOf(answer);
    if (kind === 'no_conversation' || kind === 'unknown_item') return { kind };
    const items = pairsOf(rest);
    return { kind: 'page', items, isFull: items.length === limit };
  }

  async item(
    owner: string,
    conversationId: string,
    itemId: string,
  ): Promise<StoredItem | undefined> {
    const { all, itemPrefix } = keysOf(owner, conversationId);
    const [position, body] = await this.pool.use((redis) =>
      Promise.all([redis.zscore(all[1], itemId), redis.hget(itemPrefix + itemId, 'body')]),
    );
    return position === null || body === null ? undefined : { id: itemId, body };
  }

  async removeItem(owner: string, conversationId: string, itemId: string): Promise<boolean> {
    const { all, itemPrefix } = keysOf(owner, conversationId);
    return (await this.run(REMOVE_ITEM, [all[1]], [itemPrefix, itemId])) === 1;
  }

  /** @throws Error when a newer version of the gateway has been here. */
  private async checkSchema(): Promise<void> {
    const found = await this.pool.use(async (redis) => {
      await redis.set(SCHEMA_KEY, String(SCHEMA), 'NX');
      return Number(await redis.get(SCHEMA_KEY));
    });
    if (found > SCHEMA) {
      throw new Error(
        `its entries are of version ${found}, and this gateway knows ${SCHEMA}: use the newer gateway`,
      );
    }
  }

  private text(owner: string, id: string): Promise<string | null> {
    const [key] = keysOf(owner, id).all;
    return this.pool.use((redis) => redis.get(key));
  }

  private async set(key: string, value: string): Promise<void> {
    await this.pool.use((redis) =>
      this.ttl === 0 ? redis.set(key, value) : redis.set(key, value, 'EX', this.ttl),
    );
  }

  private run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return this.pool.use((redis) => redis.eval(script, keys.length, ...keys, ...args));
  }
}

/** The name of a tenant may hold anything, also what separates the parts of a key. */
const placeFor = (owner: string): string => PREFIX + encodeURIComponent(owner);

function responseKey(owner: string, id: string): string {
  return `${placeFor(owner)}:response:${id}`;
}

function keysOf(owner: string, id: string): ConversationKeys {
  const place = placeFor(owner);
  const conversation = `${place}:conversation:${id}`;
  return {
    all: [conversation, `${place}:items:${id}`, `${place}:counter:${id}`],
    itemPrefix: `${place}:item:`,
  };
}

function textOf({ createdAt, metadata }: StoredConversation): string {
  return JSON.stringify({ createdAt, metadata });
}

function conversationOf(id: string, text: string): StoredConversation {
  const { createdAt, metadata } = JSON.parse(text) as Omit<StoredConversation, 'id'>;
  return { id, createdAt, metadata };
}

function textsOf(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

/** Ids and bodies in turn. */
function pairsOf(texts: readonly string[]): readonly StoredItem[] {
  const items: StoredItem[] = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    items.push({ id: texts[at] ?? '', body: texts[at + 1] ?? '' });
  }
  return items;
}
