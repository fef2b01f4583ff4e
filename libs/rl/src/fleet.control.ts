import { Injectable } from '@nestjs/common';
import { type EngineControl, type FleetCall, type FleetReport } from '@smg/plugin-api';
import { renderFanout, type FanoutReport } from './core/fanout';
import { isAgreement } from './core/observe';
import { EngineFanout } from './engine.fanout';
import { EngineSelection } from './engine.selection';
import { forwardedOf } from './forwarded-headers';
import { payloadOf } from './rl.http';

/** How the log names engines that were not selected, but all called. */
const EVERY_ENGINE = '*';

/** ENGINE_CONTROL: the fan-out of `/v1/rl` for other modules, without a selector. */
@Injectable()
export class FleetControl implements EngineControl {
  constructor(
    private readonly selection: EngineSelection,
    private readonly fanout: EngineFanout,
  ) {}

  async callAll(call: FleetCall, left: AbortSignal): Promise<FleetReport | undefined> {
    const targets = this.selection.all().map(({ worker }) => worker);
    if (targets.length === 0) return undefined;
    const { method, path, query, rawHeaders, body } = call;
    const headers = forwardedOf(rawHeaders, body.length > 0);
    const request = { method, path, query, headers, body };
    return told(await this.fanout.runAt(targets, EVERY_ENGINE, request, left));
  }
}

function told(report: FanoutReport): FleetReport {
  return {
    total: report.total,
    answers: report.results.map(({ workerId, url, status, body }) => ({
      workerId,
      url,
      status,
      body,
      agrees: isAgreement(status, body),
    })),
    silent: report.failed
      .filter(({ status }) => status === undefined)
      .map(({ url, error }) => ({ url, error })),
    render: (more) => payloadOf(renderFanout(report, more)),
  };
}
