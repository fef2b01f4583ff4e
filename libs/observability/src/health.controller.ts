import { Controller, Get, Header, HttpException, Res } from '@nestjs/common';
import {
  HealthCheckService,
  type HealthIndicatorFunction,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { DescribedBy, Public } from '@smg/plugin-api';
import type * as Description from './docs/health.description';
import { renderReadiness } from './core/readiness-body';
import { type ReadinessFinding } from './core/readiness-judge';
import { ReadinessMonitor } from './readiness.monitor';

interface Reply {
  status(code: number): unknown;
}

const TEXT = 'text/plain; charset=utf-8';
const OK = 'OK';

/** Probes of the main listener; the answers are the same on `--health-check-port`. */
@DescribedBy(() => (require('./docs/health.description') as typeof Description).HEALTH_DESCRIPTION)
@Controller()
@Public()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly monitor: ReadinessMonitor,
  ) {}

  /** The process runs: also while draining and without workers. */
  @Get('liveness')
  @Header('content-type', TEXT)
  liveness(): string {
    return OK;
  }

  @Get('health')
  @Header('content-type', TEXT)
  check(): string {
    return OK;
  }

  @Get('readiness')
  @Header('content-type', 'application/json')
  async readiness(@Res({ passthrough: true }) reply: Reply): Promise<string> {
    const { findings, healthyWorkers, totalWorkers } = this.monitor.current;
    const reason = await this.firstFailure(findings);
    const answer = renderReadiness({ reason, healthyWorkers, totalWorkers });
    reply.status(answer.status);
    return answer.body;
  }

  /** Reason of the first indicator that is down, in the order of the findings. */
  private async firstFailure(findings: readonly ReadinessFinding[]): Promise<string | undefined> {
    try {
      await this.health.check(findings.map((finding) => this.indicator(finding)));
      return undefined;
    } catch (error) {
      if (!(error instanceof HttpException)) throw error;
      const { error: down = {} } = error.getResponse() as {
        error?: Record<string, { reason?: unknown }>;
      };
      const reason = Object.values(down)[0]?.reason;
      // Terminus also refuses once Nest's shutdown hooks ran, with no indicator down.
      return typeof reason === 'string' ? reason : 'draining';
    }
  }

  private indicator({ name, reason }: ReadinessFinding): HealthIndicatorFunction {
    const session = this.indicators.check(name);
    return () => (reason === undefined ? session.up() : session.down({ reason }));
  }
}
