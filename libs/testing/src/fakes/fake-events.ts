import { type WorkerEvent, type WorkerEventListener, type WorkerEvents } from '@smg/plugin-api';

/** A {@link WorkerEvents} bus that also remembers what went over it. */
export class FakeEvents implements WorkerEvents {
  readonly emitted: WorkerEvent[] = [];
  private readonly listeners = new Set<WorkerEventListener>();

  /** Open subscriptions; 0 after everyone unsubscribed. */
  get subscribers(): number {
    return this.listeners.size;
  }

  subscribe(listener: WorkerEventListener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  emit(event: WorkerEvent): void {
    this.emitted.push(event);
    for (const listener of [...this.listeners]) listener(event);
  }
}
