import { ConversationError } from './history-errors';
import {
  type AddOutcome,
  type HistoryStore,
  type ItemToAdd,
  type StoredConversation,
  type StoredItem,
} from './history-store';
import { isPlainId, newId, type RandomHex } from './ids';
import { alreadyThere, isObject, readItems } from './items';
import { mergeMetadata, readMetadata } from './metadata';
import { readPageQuery } from './page-query';

/** A conversation on the wire. */
export interface ConversationObject {
  readonly id: string;
  readonly object: 'conversation';
  /** Unix seconds. */
  readonly created_at: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Deleted<Kind extends string> {
  readonly id: string;
  readonly object: Kind;
  readonly deleted: true;
}

/** Resolves once nothing is being written under an id; undefined when nothing is. */
export type Settled = (owner: string, id: string) => Promise<void> | undefined;

export interface ConversationsParts {
  readonly store: HistoryStore;
  readonly settled: Settled;
  readonly random: RandomHex;
  /** Unix seconds. */
  readonly now: () => number;
}

/** The law of `/v1/conversations`. Lists and items are answered as JSON text. Source: SMG contract 2.7. */
export class Conversations {
  constructor(private readonly parts: ConversationsParts) {}

  async create(owner: string, body: unknown): Promise<ConversationObject> {
    const { store, random, now } = this.parts;
    const fields = body === undefined ? {} : objectOf(body);
    const metadata = mergeMetadata(undefined, readMetadata(fields['metadata']));
    const given = fields['items'];
    const items = given === undefined || given === null ? [] : readItems(given, random);
    const conversation = { id: newId('conv', random), createdAt: now(), metadata };
    await store.putConversation(owner, conversation);
    if (items.length > 0) await this.fill(owner, conversation.id, items);
    return wireOf(conversation);
  }

  async get(owner: string, id: string): Promise<ConversationObject> {
    const found = isPlainId(id) ? await this.parts.store.conversation(owner, id) : undefined;
    if (found === undefined) throw noConversation(id);
    return wireOf(found);
  }

  /** Merges metadata into what is there. */
  async update(owner: string, id: string, body: unknown): Promise<ConversationObject> {
    const patch = readMetadata(objectOf(body)['metadata']);
    const changed = isPlainId(id)
      ? await this.parts.store.changeMetadata(owner, id, (old) => mergeMetadata(old, patch))
      : undefined;
    if (changed === undefined) throw noConversation(id);
    return wireOf(changed);
  }

  async delete(owner: string, id: string): Promise<Deleted<'conversation.deleted'>> {
    await this.parts.settled(owner, id);
    const isDone = isPlainId(id) && (await this.parts.store.deleteConversation(owner, id));
    if (!isDone) throw noConversation(id);
    return { id, object: 'conversation.deleted', deleted: true };
  }

  async addItems(owner: string, id: string, body: unknown): Promise<string> {
    const { store, random } = this.parts;
    const items = readItems(objectOf(body)['items'], random);
    if (!isPlainId(id)) throw noConversation(id);
    await this.parts.settled(owner, id);
    const added = addedOf(await store.addItems(owner, id, items), id);
    return listOf(added, false);
  }

  async list(owner: string, id: string, query: Readonly<Record<string, unknown>>): Promise<string> {
    const page = readPageQuery(query);
    if (!isPlainId(id)) throw noConversation(id);
    await this.parts.settled(owner, id);
    const outcome = await this.parts.store.items(owner, id, page);
    if (outcome.kind === 'no_conversation') throw noConversation(id);
    if (outcome.kind === 'unknown_item') throw noItem(page.after ?? '', 400);
    return listOf(outcome.items, outcome.isFull);
  }

  async item(owner: string, id: string, itemId: string): Promise<string> {
    const { store } = this.parts;
    if (!isPlainId(id)) throw noConversation(id);
    await this.parts.settled(owner, id);
    const item = isPlainId(itemId) ? await store.item(owner, id, itemId) : undefined;
    if (item !== undefined) return item.body;
    await this.get(owner, id);
    throw noItem(itemId, 404);
  }

  /** Takes an item out of the conversation, and answers with the conversation. */
  async removeItem(owner: string, id: string, itemId: string): Promise<ConversationObject> {
    const conversation = await this.get(owner, id);
    await this.parts.settled(owner, id);
    const isDone = isPlainId(itemId) && (await this.parts.store.removeItem(owner, id, itemId));
    if (!isDone) throw noItem(itemId, 404);
    return conversation;
  }

  /** A conversation that cannot have its first items is not made. */
  private async fill(owner: string, id: string, items: readonly ItemToAdd[]): Promise<void> {
    const { store } = this.parts;
    const outcome = await store.addItems(owner, id, items);
    if (outcome.kind === 'added') return;
    await store.deleteConversation(owner, id);
    addedOf(outcome, id);
  }
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
  if (isObject(body) && !(body instanceof Uint8Array)) return body;
  throw new ConversationError(400, 'The body must be a JSON object, sent as application/json');
}

function addedOf(outcome: AddOutcome, id: string): readonly StoredItem[] {
  switch (outcome.kind) {
    case 'added':
      return outcome.items;
    case 'no_conversation':
      throw noConversation(id);
    case 'duplicate':
      throw alreadyThere(outcome.id);
    case 'unknown_item':
      throw noItem(outcome.id, 404);
  }
}

function wireOf({ id, createdAt, metadata }: StoredConversation): ConversationObject {
  const conversation = { id, object: 'conversation', created_at: createdAt } as const;
  return metadata === undefined ? conversation : { ...conversation, metadata };
}

/** Bodies are JSON text already. */
function listOf(items: readonly StoredItem[], hasMore: boolean): string {
  const data = items.map(({ body }) => body).join(',');
  const ids = { first_id: items[0]?.id ?? null, last_id: items.at(-1)?.id ?? null };
  return `{"object":"list","data":[${data}],${JSON.stringify({ ...ids, has_more: hasMore }).slice(1)}`;
}

/** An id as a client sent it may be of any length. */
const shown = (id: string): string => JSON.stringify(id.slice(0, 256));

function noConversation(id: string): ConversationError {
  return new ConversationError(404, `There is no conversation ${shown(id)}`);
}

function noItem(id: string, status: 400 | 404): ConversationError {
  return new ConversationError(status, `There is no item ${shown(id)} here`);
}
