import { type Holding } from './records';

/**
 * Stamped holdings, least recently used first. The position is the logical stamp: stamping moves a
 * holding to the end, so no number is kept and nothing is ever sorted.
 */
export class UseQueue {
  private head: Holding | undefined;
  private tail: Holding | undefined;

  get oldest(): Holding | undefined {
    return this.head;
  }

  /** Stamps a holding: it is now the most recently used. */
  touch(holding: Holding): void {
    if (this.tail === holding) return;
    this.remove(holding);
    holding.older = this.tail;
    if (this.tail === undefined) this.head = holding;
    else this.tail.newer = holding;
    this.tail = holding;
    holding.isQueued = true;
  }

  /** Puts a holding that is not queued before all others. */
  pushOldest(holding: Holding): void {
    holding.newer = this.head;
    if (this.head === undefined) this.tail = holding;
    else this.head.older = holding;
    this.head = holding;
    holding.isQueued = true;
  }

  remove(holding: Holding): void {
    if (!holding.isQueued) return;
    const { older, newer } = holding;
    if (older === undefined) this.head = newer;
    else older.newer = newer;
    if (newer === undefined) this.tail = older;
    else newer.older = older;
    holding.older = undefined;
    holding.newer = undefined;
    holding.isQueued = false;
  }
}
