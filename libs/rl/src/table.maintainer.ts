import {
  Inject,
  Injectable,
  Logger,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import {
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type WorkerDirectory,
  type WorkerEvent,
  type WorkerEvents,
  type WorkerView,
} from '@smg/plugin-api';
import { VersionTable } from './core/version-table';
import { versionOfLabel } from './core/version-validator';
import { type WeightVersion } from './core/weight-version';

const LABEL = 'weight_version';

/** Keeps the table in step with the registry. Law: SMG RL contract 6.5. */
@Injectable()
export class TableMaintainer implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('smg_rl');
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
    private readonly table: VersionTable,
  ) {}

  onModuleInit(): void {
    // Subscribed first, then read: an engine that arrives in between is seen twice, never missed.
    this.unsubscribe = this.events.subscribe((event) => {
      this.apply(event);
    });
    this.resync();
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }

  /** Enters every registered engine, forgets every other. */
  private resync(): void {
    const workers = this.directory.all();
    for (const worker of workers) this.seed(worker);
    this.table.retain(new Set(workers.map(({ baseUrl }) => baseUrl)));
  }

  private apply(event: WorkerEvent): void {
    switch (event.kind) {
      case 'registered':
        this.seed(event.worker);
        return;
      case 'replaced':
        this.replaced(event.worker, event.previousLabels);
        return;
      case 'removed':
        this.removed(event.worker);
        return;
      case 'status_changed':
      case 'weights_changed':
        return;
    }
  }

  private seed(worker: WorkerView): void {
    if (this.table.get(worker.baseUrl) !== undefined) return;
    this.table.seed(worker.baseUrl, worker.modelId, this.labelled(worker));
  }

  /** A patch of anything but the version label must not undo an observed version. */
  private replaced(worker: WorkerView, previous: ReadonlyMap<string, string>): void {
    const { baseUrl, modelId } = worker;
    this.table.setModel(baseUrl, modelId);
    if (previous.get(LABEL) === worker.labels.get(LABEL)) this.seed(worker);
    else this.table.reseed(baseUrl, modelId, this.labelled(worker));
  }

  /** The entry is the engine's: it stays while another rank is registered. */
  private removed({ id, baseUrl }: WorkerView): void {
    const others = this.directory.all();
    if (others.some((other) => other.baseUrl === baseUrl && other.id !== id)) return;
    this.table.remove(baseUrl);
  }

  private labelled(worker: WorkerView): WeightVersion | undefined {
    const version = versionOfLabel(worker.labels.get(LABEL));
    if (version === undefined || !('ok' in version)) return version;
    this.logger.warn(
      { worker: worker.url, reason: version.reason },
      'the label weight_version is no version: the engine counts as unversioned',
    );
    return undefined;
  }
}
