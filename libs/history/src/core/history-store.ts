/** An answer of `/v1/responses` that is kept. */
export interface StoredResponse {
  readonly id: string;
  /** The answer as the engine wrote it: JSON text of an object. */
  readonly body: string;
  /** What it was asked with: JSON text of an array of items, each with an id. */
  readonly inputItems: string;
}

/** Key and value pairs a client attaches to a conversation; values are JSON values. */
export type Metadata = Readonly<Record<string, unknown>>;

export interface StoredConversation {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Undefined when none was ever given. */
  readonly metadata: Metadata | undefined;
}

export interface StoredItem {
  readonly id: string;
  /** JSON text of an object with this id. */
  readonly body: string;
}

/** An item to be put into a conversation: a new one, or a stored one by its id. */
export type ItemToAdd =
  /** Where an item with this id is stored already, that one is linked and `body` is not looked at. */
  | { readonly kind: 'item'; readonly id: string; readonly body: string }
  | { readonly kind: 'reference'; readonly id: string };

export type AddOutcome =
  | { readonly kind: 'added'; readonly items: readonly StoredItem[] }
  | { readonly kind: 'no_conversation' }
  /** The conversation has it already. */
  | { readonly kind: 'duplicate'; readonly id: string }
  /** A reference to nothing. */
  | { readonly kind: 'unknown_item'; readonly id: string };

/** A page of a list. */
export interface PageQuery {
  /** >= 1. */
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the item before the first one wanted. */
  readonly after: string | undefined;
}

export type ListOutcome =
  | { readonly kind: 'page'; readonly items: readonly StoredItem[]; readonly isFull: boolean }
  | { readonly kind: 'no_conversation' }
  /** `after` names no item of the conversation. */
  | { readonly kind: 'unknown_item' };

/**
 * Where responses and conversations are kept. Entries belong to their `owner`, the tenant that made
 * them: no call with another owner finds them. Every call is atomic: done, or nothing is changed.
 *
 * An item lives as long as a conversation has it. Ids are those of {@link isPlainId}; the caller has
 * checked that, and that no two items of one call have the same id.
 */
export interface HistoryStore {
  /** Makes it ready for use. @throws Error with a message for the operator, without credentials. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Replaces what has the same id. */
  putResponse(owner: string, response: StoredResponse): Promise<void>;
  response(owner: string, id: string): Promise<StoredResponse | undefined>;
  /** @returns whether there was one. */
  deleteResponse(owner: string, id: string): Promise<boolean>;
  putConversation(owner: string, conversation: StoredConversation): Promise<void>;
  conversation(owner: string, id: string): Promise<StoredConversation | undefined>;
  /**
   * @param change computes the new metadata from the old; may be called more than once. What it throws
   * is thrown on, and nothing is changed.
   */
  changeMetadata(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): Promise<StoredConversation | undefined>;
  /** Its items go with it, unless another conversation has them. @returns whether there was one. */
  deleteConversation(owner: string, id: string): Promise<boolean>;
  /** All of them, in this order, or none. */
  addItems(owner: string, conversationId: string, items: readonly ItemToAdd[]): Promise<AddOutcome>;
  items(owner: string, conversationId: string, page: PageQuery): Promise<ListOutcome>;
  item(owner: string, conversationId: string, itemId: string): Promise<StoredItem | undefined>;
  /** @returns whether the conversation had it. */
  removeItem(owner: string, conversationId: string, itemId: string): Promise<boolean>;
}
