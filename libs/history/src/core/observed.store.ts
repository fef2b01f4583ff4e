import { ConversationError, StorageError } from './history-errors';
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

export type StorageType = 'response' | 'conversation' | 'conversation_item';
export type Operation = 'get' | 'put' | 'delete' | 'list';
export type OperationResult = 'success' | 'not_found' | 'timeout' | 'error';

/** Told how every operation went. */
export interface StoreObserver {
  /** @param seconds it took. @param stored entries that were written. */
  done(
    type: StorageType,
    operation: Operation,
    result: OperationResult,
    seconds: number,
    stored: number,
  ): void;
  /** An operation failed for a reason of the store. */
  failed(type: StorageType, operation: Operation, cause: unknown): void;
}

/** What time is measured and waited by. */
export interface StoreClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** @returns what takes the alarm back. */
  alarm(milliseconds: number, ring: () => void): () => void;
}

class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

const nothing = (): number => 0;

/**
 * Puts a deadline on every operation of a store, counts it, and turns whatever goes wrong inside into a
 * {@link StorageError}.
 */
export class ObservedStore implements HistoryStore {
  constructor(
    private readonly inner: HistoryStore,
    private readonly observer: StoreObserver,
    private readonly clock: StoreClock,
    private readonly deadlineMs: number,
  ) {}

  open(): Promise<void> {
    return this.inner.open();
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  putResponse(owner: string, response: StoredResponse): Promise<void> {
    const run = (): Promise<void> => this.inner.putResponse(owner, response);
    return this.observe('response', 'put', run, () => 1);
  }

  response(owner: string, id: string): Promise<StoredResponse | undefined> {
    return this.observe('response', 'get', () => this.inner.response(owner, id));
  }

  deleteResponse(owner: string, id: string): Promise<boolean> {
    return this.observe('response', 'delete', () => this.inner.deleteResponse(owner, id));
  }

  putConversation(owner: string, conversation: StoredConversation): Promise<void> {
    const run = (): Promise<void> => this.inner.putConversation(owner, conversation);
    return this.observe('conversation', 'put', run, () => 1);
  }

  conversation(owner: string, id: string): Promise<StoredConversation | undefined> {
    return this.observe('conversation', 'get', () => this.inner.conversation(owner, id));
  }

  changeMetadata(
    owner: string,
    id: string,
    change: (metadata: Metadata | undefined) => Metadata | undefined,
  ): Promise<StoredConversation | undefined> {
    return this.observe('conversation', 'put', () => this.inner.changeMetadata(owner, id, change));
  }

  deleteConversation(owner: string, id: string): Promise<boolean> {
    return this.observe('conversation', 'delete', () => this.inner.deleteConversation(owner, id));
  }

  addItems(
    owner: string,
    conversationId: string,
    items: readonly ItemToAdd[],
  ): Promise<AddOutcome> {
    const run = (): Promise<AddOutcome> => this.inner.addItems(owner, conversationId, items);
    return this.observe('conversation_item', 'put', run, (outcome) =>
      outcome.kind === 'added' ? outcome.items.length : 0,
    );
  }

  items(owner: string, conversationId: string, page: PageQuery): Promise<ListOutcome> {
    return this.observe('conversation_item', 'list', () =>
      this.inner.items(owner, conversationId, page),
    );
  }

  item(owner: string, conversationId: string, itemId: string): Promise<StoredItem | undefined> {
    return this.observe('conversation_item', 'get', () =>
      this.inner.item(owner, conversationId, itemId),
    );
  }

  removeItem(owner: string, conversationId: string, itemId: string): Promise<boolean> {
    return this.observe('conversation_item', 'delete', () =>
      this.inner.removeItem(owner, conversationId, itemId),
    );
  }

  private async observe<T>(
    type: StorageType,
    operation: Operation,
    run: () => Promise<T>,
    storedBy: (value: T) => number = nothing,
  ): Promise<T> {
    const startedAt = this.clock.now();
    const done = (result: OperationResult, stored: number): void => {
      const seconds = (this.clock.now() - startedAt) / 1000;
      this.observer.done(type, operation, result, seconds, stored);
    };
    try {
      const value = await this.withDeadline(run);
      const isFound = storedBy !== nothing && value === undefined ? true : !isMissing(value);
      done(isFound ? 'success' : 'not_found', storedBy(value));
      return value;
    } catch (error) {
      // A refusal of the law, thrown inside an atomic change, is no failure of the store.
      if (error instanceof ConversationError) {
        done('success', 0);
        throw error;
      }
      done(error instanceof NoAnswer ? 'timeout' : 'error', 0);
      this.observer.failed(type, operation, error);
      throw new StorageError(error);
    }
  }

  private withDeadline<T>(run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.alarm(this.deadlineMs, () => {
        reject(new NoAnswer(`no answer within ${this.deadlineMs / 1000} s`));
      });
      run().then(resolve, reject).finally(cancel);
    });
  }
}

function isMissing(value: unknown): boolean {
  if (value === undefined || value === false) return true;
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return value.kind === 'no_conversation' || value.kind === 'unknown_item';
}
