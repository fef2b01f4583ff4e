import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Worker } from './core/worker';
import { REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerRegistry } from './worker.registry';

/**
 * Takes workers away. Law: SMG contract 3.8: a ready worker first drains for the largest settle time
 * of those that go together; others go at once; a second removal ends the wait. Requests in flight
 * keep their worker and are never cut.
 */
@Injectable()
export class WorkerRemover implements OnApplicationShutdown {
  /** Workers that are draining → what ends their wait. */
  readonly #draining = new Map<Worker, () => void>();

  constructor(
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    private readonly registry: WorkerRegistry,
  ) {}

  async remove(workers: readonly Worker[]): Promise<void> {
    const waiting = workers.filter((worker) => worker.status === 'ready');
    const settleMs = Math.max(0, ...waiting.map((it) => it.settings.health.drainSettleMs));
    if (settleMs > 0) {
      for (const worker of waiting) worker.setStatus('draining');
      for (const worker of workers) if (!waiting.includes(worker)) this.registry.remove(worker);
      await this.#settle(waiting, settleMs);
    }
    for (const worker of workers) this.registry.remove(worker);
  }

  /** Ends the wait of a worker that is draining. @returns whether it was. */
  hurry(worker: Worker): boolean {
    const finish = this.#draining.get(worker);
    finish?.();
    return finish !== undefined;
  }

  onApplicationShutdown(): void {
    for (const finish of [...this.#draining.values()]) finish();
  }

  #settle(workers: readonly Worker[], ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        for (const worker of workers) this.#draining.delete(worker);
        resolve();
      };
      const cancel = this.runtime.clock.after(ms, finish);
      for (const worker of workers) this.#draining.set(worker, finish);
    });
  }
}
