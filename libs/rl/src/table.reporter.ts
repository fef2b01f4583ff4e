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
  type WorkerEvents,
} from '@smg/plugin-api';
import {
  VersionTable,
  type ControlChange,
  type VersionChange,
  type VersionTableListener,
} from './core/version-table';
import { RlMetrics } from './rl.metrics';

const GAUGE_OF = { active: 0, paused: 1, asleep: 2 } as const;

/**
 * Says what changed in the table: gauges, log lines, and the event by which cache-aware policies
 * forget what an engine had cached. Law: SMG RL contract 6.4, 9 to 11.
 */
@Injectable()
export class TableReporter implements OnModuleInit, OnModuleDestroy, VersionTableListener {
  private readonly logger = new Logger('smg_rl');
  private unlisten: (() => void) | undefined;

  constructor(
    private readonly table: VersionTable,
    private readonly metrics: RlMetrics,
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    @Inject(WORKER_EVENTS) private readonly events: WorkerEvents,
  ) {}

  onModuleInit(): void {
    this.unlisten = this.table.listen(this);
  }

  onModuleDestroy(): void {
    this.unlisten?.();
    this.unlisten = undefined;
  }

  onVersion({ baseUrl, to, cause, source }: VersionChange): void {
    // A gauge is a double: an integer beyond 2^53 is shown as the nearest one.
    this.metrics.versionIs(baseUrl, to?.number === undefined ? undefined : Number(to.number));
    // What a new engine cached, it cached with the weights it came with.
    if (cause === 'seed') return;
    this.events.emit({ kind: 'weights_changed', baseUrl });
    if (cause !== 'write') return;
    if (this.isServing(baseUrl)) this.metrics.versionChangedInFlight();
    this.logger.log({ base_url: baseUrl, version: to?.text, source }, 'rl.observe version');
  }

  onControl({ baseUrl, to }: ControlChange): void {
    this.metrics.controlIs(baseUrl, GAUGE_OF[to]);
    this.logger.log({ base_url: baseUrl, control: to }, 'rl.observe control');
  }

  onRemoved(baseUrl: string): void {
    this.metrics.engineLeft(baseUrl);
  }

  private isServing(baseUrl: string): boolean {
    return this.directory.all().some((worker) => worker.baseUrl === baseUrl && worker.load > 0);
  }
}
