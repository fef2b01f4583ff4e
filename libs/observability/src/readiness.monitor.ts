import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Optional,
} from '@nestjs/common';
import {
  LIFECYCLE,
  READINESS_CHECK,
  type ReadinessCheck,
  WORKER_DIRECTORY,
  WORKER_EVENTS,
  type WorkerDirectory,
  type WorkerEvents,
} from '@smg/plugin-api';
import { ExtensionCollector } from '@smg/plugin-host';
import { HealthBoard } from './core/health-board';
import { ProcessLifecycle } from './core/process-lifecycle';
import { judgeReadiness, type ReadinessJudgement } from './core/readiness-judge';

const RECOMPUTE_MS = 1000;

/** Judges readiness on worker events, on draining and every second; probes only read the result. */
@Injectable()
export class ReadinessMonitor implements OnApplicationBootstrap, OnModuleDestroy {
  /** The same verdict for the health listener's thread, with this loop's heartbeat. */
  readonly board = new HealthBoard();
  private checks: readonly ReadinessCheck[] = [];
  private judgement: ReadinessJudgement;
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly collector: ExtensionCollector,
    @Inject(LIFECYCLE) private readonly lifecycle: ProcessLifecycle,
    @Optional() @Inject(WORKER_DIRECTORY) private readonly directory?: WorkerDirectory,
    @Optional() @Inject(WORKER_EVENTS) private readonly events?: WorkerEvents,
  ) {
    this.judgement = judgeReadiness(lifecycle, [], []);
    this.board.write(this.judgement);
  }

  get current(): ReadinessJudgement {
    return this.judgement;
  }

  onApplicationBootstrap(): void {
    this.checks = this.collector.collect(READINESS_CHECK);
    this.lifecycle.onDraining(() => {
      this.recompute();
    });
    this.unsubscribe = this.events?.subscribe(() => {
      this.recompute();
    });
    this.timer = setInterval(() => {
      this.recompute();
      this.board.beat();
    }, RECOMPUTE_MS);
    this.timer.unref();
    this.recompute();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.unsubscribe?.();
  }

  private recompute(): void {
    this.judgement = judgeReadiness(this.lifecycle, this.directory?.all() ?? [], this.checks);
    this.board.write(this.judgement);
  }
}
