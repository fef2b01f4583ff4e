interface Event {
  readonly at: number;
  readonly turn: number;
  readonly run: () => void;
}

/** What happens later, in order of simulated time; of the same instant, in order of scheduling. */
export class EventQueue {
  /** Milliseconds of simulated time. */
  now = 0;
  private readonly heap: Event[] = [];
  private turns = 0;

  get size(): number {
    return this.heap.length;
  }

  /** @param at not before {@link now}; an earlier time counts as now. */
  at(at: number, run: () => void): void {
    const { heap } = this;
    const event = { at: Math.max(at, this.now), turn: this.turns++, run };
    let place = heap.length;
    heap.push(event);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = event;
  }

  after(delay: number, run: () => void): void {
    this.at(this.now + delay, run);
  }

  /** Forgets what is left; whoever still knows the queue then holds nothing of the run. */
  clear(): void {
    this.heap.length = 0;
  }

  /** Runs the next event. @returns false when there is none. */
  step(): boolean {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return false;
    if (first !== last) this.sink(last);
    this.now = first.at;
    first.run();
    return true;
  }

  private sink(event: Event): void {
    const { heap } = this;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(event, heap[child]!)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = event;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.turn < b.turn);
}
