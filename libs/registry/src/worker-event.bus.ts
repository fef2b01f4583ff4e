import { Injectable, Logger } from '@nestjs/common';
import { type WorkerEvent, type WorkerEventListener, type WorkerEvents } from '@smg/plugin-api';

/** WORKER_EVENTS: synchronous delivery in subscription order; one bad listener stops nobody. */
@Injectable()
export class WorkerEventBus implements WorkerEvents {
  readonly #log = new Logger('registry');
  /** Replaced on change, so that a listener may subscribe or leave while an event is delivered. */
  #listeners: readonly { readonly notify: WorkerEventListener }[] = [];

  subscribe(listener: WorkerEventListener): () => void {
    const entry = { notify: listener };
    this.#listeners = [...this.#listeners, entry];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== entry);
    };
  }

  emit(event: WorkerEvent): void {
    for (const { notify } of this.#listeners) {
      try {
        notify(event);
      } catch (error) {
        this.#log.error(
          `a listener failed on worker event ${event.kind}`,
          error instanceof Error ? error.stack : undefined,
        );
      }
    }
  }
}
