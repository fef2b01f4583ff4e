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
} from './history-store';
import { pageOf } from './page';

/** What may be kept before the entries used least recently go. */
export interface MemoryLimits {
  /** Responses, conversations and items together. */
  readonly entries: number;
  /** Bytes, counted generously: two for each character, and the bookkeeping. */
  readonly bytes: number;
}

/** Bytes of an entry beside its text. */
const OVERHEAD = 512;

interface Item extends StoredItem {
  /** Conversations that have it. */
  uses: number;
}

interface ResponseEntry {
  readonly kind: 'response';
  readonly value: StoredResponse;
  readonly bytes: number;
}

interface ConversationEntry {
  readonly kind: 'conversation';
  readonly owner: string;
  value: StoredConversation;
  bytes: number;
  /** By item id, in the order of addition. */
  readonly items: Map<string, Item>;
}

type Entry = ResponseEntry | ConversationEntry;

const keyOf = (kind: Entry['kind'] | 'item', owner: string, id: string): string =>
  // Neither a kind nor an id has a space.
  `${kind} ${id} ${owner}`;

const sizeOf = (...texts: readonly string[]): number =>
  texts.reduce((sum, { length }) => sum + 2 * length, OVERHEAD);

/** Keeps everything in this process, within limits; gone with it. */
export class MemoryStore implements HistoryStore {
  /** Least recently used first. */
  private readonly entries = new Map<string, Entry>();
  private readonly itemsById = new Map<string, Item>();
  private bytes = 0;

  constructor(private readonly limits: MemoryLimits) {}

  open(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.entries.clear();
    this.itemsById.clear();
    this.bytes = 0;
    return Promise.resolve();
  }

  /** Entries kept now, and the bytes they are counted as. */
  get size(): MemoryLimits {
    return { entries: this.entries.size + this.itemsById.size, bytes: this.bytes };
  }

  putResponse(owner: string, value: StoredResponse): Promise<void> {
    const key = keyOf('response', owner, value.id);
    this.remove(key);
    this.insert(key, {
      kind: 'response',
      value,
      bytes: sizeOf(key, value.body, value.inputItems),
    });
    return Promise.resolve();
  }

  response(owner: string, id: string): Promise<StoredResponse | undefined> {
    const entry = this.used(keyOf('response', owner, id));
    return Promise.resolve(entry?.kind === 'response' ? entry.value : undefined);
  }

  deleteResponse(owner: string, id: string): Promise<boolean> {
    return Promise.resolve(this.remove(keyOf('response', owner, id)));
  }

  putConversation(owner: string, value: StoredConversation): Promise<void> {
    const key = keyOf('conversation', owner, value.id);
    this.remove(key);
    const bytes = sizeOf(key, JSON.stringify(value));
    this.insert(key, { kind: 'conversation', owner, value, bytes, items: new Map() });
    return Promise.resolve();
  }

  conversation(owner: string, id: string): Promise<StoredConversation | undefined> {
    return Promise.resolve(this.find(owner, id)?.value);
  }

  changeMetadata(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): Promise<StoredConversation | undefined> {
    return new Promise((resolve) => {
      resolve(this.change(owner, id, change));
    });
  }

  deleteConversation(owner: string, id: string): Promise<boolean> {
    return Promise.resolve(this.remove(keyOf('conversation', owner, id)));
  }

  addItems(
    owner: string,
    conversationId: string,
    items: readonly ItemToAdd[],
  ): Promise<AddOutcome> {
    return Promise.resolve(this.add(owner, conversationId, items));
  }

  items(owner: string, conversationId: string, page: PageQuery): Promise<ListOutcome> {
    const entry = this.find(owner, conversationId);
    if (entry === undefined) return Promise.resolve({ kind: 'no_conversation' });
    return Promise.resolve(pageOf([...entry.items.values()].map(plain), page));
  }

  item(owner: string, conversationId: string, itemId: string): Promise<StoredItem | undefined> {
    const item = this.find(owner, conversationId)?.items.get(itemId);
    return Promise.resolve(item === undefined ? undefined : plain(item));
  }

  removeItem(owner: string, conversationId: string, itemId: string): Promise<boolean> {
    const entry = this.find(owner, conversationId);
    return Promise.resolve(entry !== undefined && this.unlink(entry, itemId));
  }

  private change(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): StoredConversation | undefined {
    const entry = this.find(owner, id);
    if (entry === undefined) return undefined;
    const value = { ...entry.value, metadata: change(entry.value.metadata) };
    const bytes = sizeOf(keyOf('conversation', owner, id), JSON.stringify(value));
    this.bytes += bytes - entry.bytes;
    entry.value = value;
    entry.bytes = bytes;
    this.evict();
    return value;
  }

  private add(owner: string, id: string, items: readonly ItemToAdd[]): AddOutcome {
    const entry = this.find(owner, id);
    if (entry === undefined) return { kind: 'no_conversation' };
    for (const item of items) {
      if (entry.items.has(item.id)) return { kind: 'duplicate', id: item.id };
      const isKnown = this.itemsById.has(keyOf('item', owner, item.id));
      if (item.kind === 'reference' && !isKnown) return { kind: 'unknown_item', id: item.id };
    }
    const added = items.map((item) => plain(this.link(entry, item)));
    this.evict();
    return { kind: 'added', items: added };
  }

  private link(entry: ConversationEntry, toAdd: ItemToAdd): Item {
    const key = keyOf('item', entry.owner, toAdd.id);
    let item = this.itemsById.get(key);
    if (item === undefined) {
      item = { id: toAdd.id, body: toAdd.kind === 'item' ? toAdd.body : '{}', uses: 0 };
      this.itemsById.set(key, item);
      this.bytes += sizeOf(key, item.body);
    }
    item.uses += 1;
    entry.items.set(toAdd.id, item);
    this.bytes += OVERHEAD;
    return item;
  }

  private unlink(entry: ConversationEntry, itemId: string): boolean {
    const item = entry.items.get(itemId);
    if (item === undefined) return false;
    entry.items.delete(itemId);
    this.bytes -= OVERHEAD;
    item.uses -= 1;
    if (item.uses > 0) return true;
    const key = keyOf('item', entry.owner, itemId);
    this.itemsById.delete(key);
    this.bytes -= sizeOf(key, item.body);
    return true;
  }

  private find(owner: string, id: string): ConversationEntry | undefined {
    const entry = this.used(keyOf('conversation', owner, id));
    return entry?.kind === 'conversation' ? entry : undefined;
  }

  private used(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  private insert(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    this.bytes += entry.bytes;
    this.evict();
  }

  private remove(key: string): boolean {
    const entry = this.entries.get(key);
    if (entry === undefined) return false;
    this.entries.delete(key);
    this.bytes -= entry.bytes;
    if (entry.kind === 'conversation') {
      for (const id of [...entry.items.keys()]) this.unlink(entry, id);
    }
    return true;
  }

  /** The entry used last stays as long as anything else can go; of a conversation, its latest items. */
  private evict(): void {
    const { limits } = this;
    while (this.size.entries > limits.entries || this.bytes > limits.bytes) {
      const oldest = this.entries.entries().next().value;
      if (oldest === undefined) return;
      const [key, entry] = oldest;
      const isLast = this.entries.size === 1;
      const [first] = isLast && entry.kind === 'conversation' ? entry.items.keys() : [];
      if (first === undefined) this.remove(key);
      else if (entry.kind === 'conversation') this.unlink(entry, first);
    }
  }
}

const plain = ({ id, body }: Item): StoredItem => ({ id, body });
