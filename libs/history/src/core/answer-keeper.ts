import { type AnswerRecorder, type AnswerRecording, type RecordedRequest } from '@smg/plugin-api';
import { type HistoryStore, type ItemToAdd, type StoredResponse } from './history-store';
import { isPlainId, type RandomHex } from './ids';
import { inputItemsOf, isObject, keptItem, type NewItem } from './items';
import { type RecordedAnswer, ResponseRecording } from './response-recording';

/** Owner of what is made while no serving key is configured. */
export const NOBODY = '';

export interface KeeperLimits {
  /** Bytes of one answer; a larger one is relayed and not kept. */
  readonly answerBytes: number;
  /** Characters that wait for the store; beyond, answers are relayed and not kept. */
  readonly waitingLength: number;
}

export interface AnswerKeeperParts {
  readonly store: HistoryStore;
  readonly random: RandomHex;
  readonly limits: KeeperLimits;
  /** An answer was not kept, and why. Failures of the store are reported by the store. */
  readonly onDropped: (reason: string) => void;
}

/** What a request says of its storage. */
interface Wish {
  readonly owner: string;
  readonly input: unknown;
  /** Conversation the answer becomes part of. */
  readonly conversationId: string | undefined;
}

/**
 * Keeps the answers of `/v1/responses` that pass through the data plane. Writing happens beside the
 * answer and never delays it; whoever asks this process for an entry that is being written waits for it.
 */
export class AnswerKeeper implements AnswerRecorder {
  private readonly writing = new Map<string, Promise<void>>();
  private waiting = 0;

  constructor(private readonly parts: AnswerKeeperParts) {}

  recordingOf({
    endpoint,
    authenticatedTenant,
    json,
  }: RecordedRequest): AnswerRecording | undefined {
    if (endpoint !== 'responses' || json['store'] === false) return undefined;
    const wish: Wish = {
      owner: authenticatedTenant ?? NOBODY,
      input: json['input'],
      conversationId: conversationOf(json['conversation']),
    };
    return new ResponseRecording(this.parts.limits.answerBytes, (answer) => {
      this.keep(wish, answer);
    });
  }

  /** Resolves once nothing is being written under this id; undefined when nothing is. */
  settled(owner: string, id: string): Promise<void> | undefined {
    return this.writing.get(keyOf(owner, id));
  }

  /** Resolves once everything that was being written is. */
  async drained(): Promise<void> {
    await Promise.all(this.writing.values());
  }

  private keep(wish: Wish, answer: RecordedAnswer): void {
    const { limits, onDropped, random } = this.parts;
    if (!isPlainId(answer.id)) {
      onDropped('its id cannot be stored');
      return;
    }
    try {
      const input = inputItemsOf(wish.input, random);
      const inputItems = `[${input.map(({ body }) => body).join(',')}]`;
      const response = { id: answer.id, body: answer.body, inputItems };
      const length = answer.body.length + inputItems.length;
      if (this.waiting + length > limits.waitingLength) {
        onDropped('too much waits for the store');
        return;
      }
      const items = itemsFor(wish, answer, input, random);
      this.write(wish, response, items, length);
    } catch {
      // What an engine understood may be too deep to be written again.
      onDropped('it cannot be written as JSON');
    }
  }

  private write(
    { owner, conversationId }: Wish,
    response: StoredResponse,
    items: readonly ItemToAdd[],
    length: number,
  ): void {
    const keys = [keyOf(owner, response.id)];
    if (conversationId !== undefined && items.length > 0) keys.push(keyOf(owner, conversationId));
    // One after the other: a conversation is in the order of its answers.
    const before = Promise.all(keys.flatMap((key) => this.writing.get(key) ?? []));
    this.waiting += length;
    const written = before
      .then(() => this.parts.store.putResponse(owner, response))
      .then(() =>
        conversationId === undefined ? undefined : this.append(owner, conversationId, items),
      )
      .catch(() => undefined)
      .then(() => {
        this.waiting -= length;
        for (const key of keys) if (this.writing.get(key) === written) this.writing.delete(key);
      });
    for (const key of keys) this.writing.set(key, written);
  }

  /** What the conversation has already, a client sent again. */
  private async append(
    owner: string,
    conversationId: string,
    items: readonly ItemToAdd[],
  ): Promise<void> {
    let left = items;
    while (left.length > 0) {
      const outcome = await this.parts.store.addItems(owner, conversationId, left);
      if (outcome.kind !== 'duplicate' && outcome.kind !== 'unknown_item') return;
      const { id } = outcome;
      left = left.filter((item) => item.id !== id);
    }
  }
}

function keyOf(owner: string, id: string): string {
  return `${id} ${owner}`;
}

/** A name, or an object with one. */
function conversationOf(value: unknown): string | undefined {
  const id = isObject(value) ? value['id'] : value;
  return typeof id === 'string' && id.startsWith('conv_') && isPlainId(id) ? id : undefined;
}

/** The items of a turn: what was asked, then what was answered; each id once. */
function itemsFor(
  wish: Wish,
  answer: RecordedAnswer,
  input: readonly NewItem[],
  random: RandomHex,
): readonly ItemToAdd[] {
  if (wish.conversationId === undefined || answer.status === 'failed') return [];
  const parsed: unknown = JSON.parse(answer.body);
  const output = isObject(parsed) ? parsed['output'] : undefined;
  const answered = Array.isArray(output) ? output.filter(isObject) : [];
  const items = new Map<string, ItemToAdd>();
  for (const item of [...input, ...answered.map((it) => keptItem(it, random))]) {
    // What it refers to is in the conversation, or nowhere.
    if (item.type !== 'item_reference') items.set(item.id, item);
  }
  return [...items.values()];
}
