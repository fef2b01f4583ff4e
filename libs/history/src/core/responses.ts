import { type Deleted, type Settled } from './conversations';
import { type HistoryStore } from './history-store';
import { isPlainId } from './ids';
import { isObject } from './items';

/** The law of the stored answers of `/v1/responses`. `undefined`: there is none of that id. */
export class Responses {
  constructor(
    private readonly store: HistoryStore,
    private readonly settled: Settled,
  ) {}

  /** The answer as the engine wrote it. */
  async get(owner: string, id: string): Promise<string | undefined> {
    return (await this.find(owner, id))?.body;
  }

  async delete(owner: string, id: string): Promise<Deleted<'response.deleted'> | undefined> {
    await this.settled(owner, id);
    const isDone = isPlainId(id) && (await this.store.deleteResponse(owner, id));
    return isDone ? { id, object: 'response.deleted', deleted: true } : undefined;
  }

  /** Every item the answer was asked with, in order. */
  async inputItems(owner: string, id: string): Promise<string | undefined> {
    const found = await this.find(owner, id);
    if (found === undefined) return undefined;
    const items: unknown = JSON.parse(found.inputItems);
    const ids = (Array.isArray(items) ? items : []).map((item: unknown) =>
      isObject(item) ? item['id'] : undefined,
    );
    const ends = { first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more: false };
    return `{"object":"list","data":${found.inputItems},${JSON.stringify(ends).slice(1)}`;
  }

  private async find(owner: string, id: string): ReturnType<HistoryStore['response']> {
    if (!isPlainId(id)) return undefined;
    await this.settled(owner, id);
    return this.store.response(owner, id);
  }
}
