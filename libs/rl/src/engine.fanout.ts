import { Inject, Injectable, Logger } from '@nestjs/common';
import { type WorkerView } from '@smg/plugin-api';
import { ControlCaller, type EngineRequest } from './control.caller';
import { fanOut, type FanoutReport } from './core/fanout';
import { RlError } from './core/rl-error';
import { EngineSelection, type GivenSelector } from './engine.selection';
import { RlMetrics } from './rl.metrics';
import { RL_OPTIONS, type RlOptions } from './rl.options';

/** Sends one request to every engine that matches; no retry, no rollback. Law: SMG RL contract 2.3. */
@Injectable()
export class EngineFanout {
  private readonly logger = new Logger('smg_rl');

  constructor(
    private readonly selection: EngineSelection,
    private readonly caller: ControlCaller,
    private readonly metrics: RlMetrics,
    @Inject(RL_OPTIONS) private readonly options: RlOptions,
  ) {}

  /** @throws RlError `no_workers_match`; whatever a call throws once `left` fired. */
  async run(
    selector: GivenSelector,
    request: EngineRequest,
    left: AbortSignal,
  ): Promise<FanoutReport> {
    const startedAt = performance.now();
    const targets = this.targetsOf(selector, startedAt);
    return this.runAt(targets, selector.text, request, left);
  }

  /** The same for engines already chosen. @param why they were, for the log. */
  async runAt(
    targets: readonly WorkerView[],
    why: string,
    request: EngineRequest,
    left: AbortSignal,
  ): Promise<FanoutReport> {
    const startedAt = performance.now();
    const report = await fanOut(
      targets,
      this.options.fanoutConcurrency,
      (worker) => this.caller.call(worker, request, left),
      left,
    );
    const latencyMs = performance.now() - startedAt;
    this.metrics.fannedOut(report.status === 200 ? 'ok' : 'partial', latencyMs / 1000);
    const { total, succeeded, failed } = report;
    this.logger.log(
      {
        path: request.path,
        selector: why,
        total,
        succeeded,
        failed: failed.length,
        latency_ms: Math.floor(latencyMs),
      },
      'rl.fanout',
    );
    return report;
  }

  private targetsOf(selector: GivenSelector, startedAt: number): readonly WorkerView[] {
    try {
      return this.selection.matching(selector).map(({ worker }) => worker);
    } catch (error) {
      if (error instanceof RlError && error.code === 'no_workers_match') {
        this.metrics.fannedOut('no_match', (performance.now() - startedAt) / 1000);
      }
      throw error;
    }
  }
}
