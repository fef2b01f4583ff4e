import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { WORKER_ADDRESSES, type WorkerAddresses } from '@smg/plugin-api';
import { type WorkerSpecWire } from '@smg/protocol';
import { type RegistryOptions, type StartupWorker } from './core/registry-options';
import { WorkerApiError } from './core/worker-api-error';
import { parseWorkerUrl, type WorkerAddress } from './core/worker-url';
import { REGISTRY_OPTIONS, REGISTRY_RUNTIME, type RegistryRuntime } from './registry.tokens';
import { WorkerCommands } from './worker.commands';

/** Pause before the rest of a list longer than the job queue is tried again. */
const RETRY_MS = 500;

/** Registers the workers of the command line, in the background: the listener opens at once. */
@Injectable()
export class StartupRegistration
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  readonly #log = new Logger('registry');
  #cancel: () => void = () => undefined;

  constructor(
    @Inject(REGISTRY_OPTIONS) private readonly options: RegistryOptions,
    @Inject(REGISTRY_RUNTIME) private readonly runtime: RegistryRuntime,
    @Inject(WORKER_ADDRESSES) private readonly addresses: WorkerAddresses,
    private readonly commands: WorkerCommands,
  ) {}

  /** @throws Error for a URL that can never be registered; it is named by position, never shown as it is. */
  onModuleInit(): void {
    this.options.startupWorkers.forEach(({ url }, index) => {
      const parsed = parseWorkerUrl(url);
      const problem = parsed.ok ? this.#refusalOf(parsed.address) : parsed.message;
      if (problem !== undefined) throw new Error(`start-up worker ${index + 1}: ${problem}`);
    });
  }

  /** Of a transport that is not spoken, registering says so. */
  #refusalOf({ connectionMode, baseUrl }: WorkerAddress): string | undefined {
    return connectionMode === 'http' ? this.addresses.refusalOf(baseUrl) : undefined;
  }

  onApplicationBootstrap(): void {
    if (this.options.startupWorkers.length === 0) return;
    this.#after(this.options.startupDelaySecs * 1000, this.options.startupWorkers);
  }

  beforeApplicationShutdown(): void {
    this.#cancel();
  }

  #after(ms: number, workers: readonly StartupWorker[]): void {
    this.#cancel = this.runtime.clock.after(ms, () => {
      this.#register(workers);
    });
  }

  #register(workers: readonly StartupWorker[]): void {
    for (const [index, worker] of workers.entries()) {
      try {
        this.commands.upsert(this.#specOf(worker));
      } catch (error) {
        if (!(error instanceof WorkerApiError)) throw error;
        if (error.code === 'INTERNAL_SERVER_ERROR') {
          this.#after(RETRY_MS, workers.slice(index));
          return;
        }
        this.#log.error(`start-up worker ${worker.url} not registered: ${error.message}`);
      }
    }
  }

  #specOf(worker: StartupWorker): WorkerSpecWire {
    const { apiKey, runtime } = this.options;
    return {
      url: worker.url,
      worker_type: worker.workerType,
      ...(worker.bootstrapPort === undefined ? {} : { bootstrap_port: worker.bootstrapPort }),
      ...(apiKey === undefined ? {} : { api_key: apiKey }),
      ...(runtime === undefined ? {} : { runtime_type: runtime }),
    };
  }
}
