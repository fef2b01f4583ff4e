/** Something that knows its own place in an {@link IdleStack}. */
export interface StackSlot {
  /** Owned by the stack; -1 while outside. */
  slot: number;
}

/**
 * Last-in first-out set with O(1) removal from the middle: the hottest connection is reused first, so
 * surplus ones age out, and one that dies leaves at once instead of being found dead later.
 */
export class IdleStack<T extends StackSlot> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  push(item: T): void {
    if (item.slot !== -1) return;
    item.slot = this.items.length;
    this.items.push(item);
  }

  pop(): T | undefined {
    const item = this.items.pop();
    if (item !== undefined) item.slot = -1;
    return item;
  }

  /** Takes `item` out; the last item fills its place. @returns whether it was inside. */
  remove(item: T): boolean {
    const at = item.slot;
    if (at === -1) return false;
    const last = this.items.pop();
    if (last !== undefined && last !== item) {
      this.items[at] = last;
      last.slot = at;
    }
    item.slot = -1;
    return true;
  }
}
