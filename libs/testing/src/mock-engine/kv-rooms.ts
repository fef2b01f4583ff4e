import { readJsonMembers } from '@smg/protocol';
import { type MockEngine } from './mock-engine';

/**
 * Lets SGLang engines of a pair meet: a request with a `bootstrap_room` is answered once another engine
 * has got one with the same room, as prefill and decode do. Without a peer it waits until its client
 * leaves.
 */
export class KvRooms {
  private readonly waiting = new Map<string, () => void>();

  constructor(engines: readonly MockEngine[]) {
    for (const engine of engines) {
      engine.onRequest(async ({ body }) => {
        await Promise.all(roomsIn(body).map((room) => this.meet(room)));
      });
    }
  }

  /** Rooms in which one engine waits for the other. */
  get open(): number {
    return this.waiting.size;
  }

  private meet(room: string): Promise<void> {
    const peer = this.waiting.get(room);
    if (peer === undefined) {
      return new Promise((resolve) => {
        this.waiting.set(room, resolve);
      });
    }
    this.waiting.delete(room);
    peer();
    return Promise.resolve();
  }
}

/** Rooms as their digits: they do not fit into a number. */
function roomsIn(body: Buffer): readonly string[] {
  const lexeme = readJsonMembers(body, ['bootstrap_room'])?.get('bootstrap_room')?.lexeme ?? '';
  return lexeme.match(/\d+/g) ?? [];
}
