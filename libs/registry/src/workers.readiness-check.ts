import { Inject, Injectable } from '@nestjs/common';
import { type ReadinessCheck } from '@smg/plugin-api';
import { type RegistryOptions } from './core/registry-options';
import { REGISTRY_OPTIONS } from './registry.tokens';
import { WorkerRegistry } from './worker.registry';

/**
 * Ready while somebody can serve: any worker, or a prefill and a decode worker in PD mode. A worker
 * that is overloaded counts: taking the gateway away would not relieve it.
 */
@Injectable()
export class WorkersReadinessCheck implements ReadinessCheck {
  readonly name = 'workers';

  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    private readonly registry: WorkerRegistry,
  ) {}

  check(): string | undefined {
    return this.#isServed() ? undefined : 'insufficient healthy workers';
  }

  #isServed(): boolean {
    const ready = this.registry.all().filter((worker) => worker.status === 'ready');
    if (!this.options.isPrefillDecode) return ready.length > 0;
    return (
      ready.some((worker) => worker.workerType === 'prefill') &&
      ready.some((worker) => worker.workerType === 'decode')
    );
  }
}
