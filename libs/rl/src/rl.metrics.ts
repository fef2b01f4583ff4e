import { Inject, Injectable } from '@nestjs/common';
import {
  METRICS,
  type CounterCell,
  type GaugeCell,
  type HistogramCell,
  type MetricFamily,
  type Metrics,
} from '@smg/plugin-api';

/** `result` of one engine call. */
export type CallResultLabel = 'ok' | 'upstream_error' | 'timeout' | 'unreachable';

/** `result` of one fan-out. */
export type FanoutResultLabel = 'ok' | 'partial' | 'no_match';

/** The `smg_rl_*` metrics; each series appears with its first event. Law: SMG RL contract 10. */
@Injectable()
export class RlMetrics {
  private readonly calls: MetricFamily<CounterCell>;
  private readonly callSeconds: MetricFamily<HistogramCell>;
  private readonly fanouts: MetricFamily<CounterCell>;
  private readonly fanoutSeconds: MetricFamily<HistogramCell>;
  private readonly versions: MetricFamily<GaugeCell>;
  private readonly controls: MetricFamily<GaugeCell>;
  private readonly filtered: MetricFamily<CounterCell>;
  private readonly unroutable: MetricFamily<CounterCell>;
  private readonly mixed: MetricFamily<CounterCell>;
  private readonly changesInFlight: MetricFamily<CounterCell>;

  constructor(@Inject(METRICS) metrics: Metrics) {
    this.calls = metrics.counter({
      name: 'smg_rl_control_calls_total',
      help: 'Control calls to engines, one per engine.',
      labels: ['op', 'result'],
    });
    this.callSeconds = metrics.histogram({
      name: 'smg_rl_control_call_duration_seconds',
      help: 'Duration of one control call to one engine.',
      labels: ['op'],
    });
    this.fanouts = metrics.counter({
      name: 'smg_rl_fanout_total',
      help: 'Fan-outs whose selector was understood.',
      labels: ['result'],
    });
    this.fanoutSeconds = metrics.histogram({
      name: 'smg_rl_fanout_duration_seconds',
      help: 'Wall time of one fan-out.',
    });
    this.versions = metrics.gauge({
      name: 'smg_rl_worker_weight_version',
      help: 'Weight version of an engine, while it is a number.',
      labels: ['worker'],
    });
    this.controls = metrics.gauge({
      name: 'smg_rl_worker_control_state',
      help: 'Control state of an engine: 0 active, 1 paused, 2 asleep.',
      labels: ['worker'],
    });
    this.filtered = metrics.counter({
      name: 'smg_rl_candidates_filtered_total',
      help: 'Candidates a selection dropped: paused, asleep, stale or unversioned.',
      labels: ['reason'],
    });
    this.unroutable = metrics.counter({
      name: 'smg_rl_requests_unroutable_total',
      help: 'Selections that dropped every candidate.',
    });
    this.mixed = metrics.counter({
      name: 'smg_rl_mixed_version_total',
      help: 'Answers in which more than one weight version took part.',
    });
    this.changesInFlight = metrics.counter({
      name: 'smg_rl_version_change_with_inflight_total',
      help: 'Version changes of an engine that was serving requests.',
    });
  }

  called(op: string, result: CallResultLabel, seconds: number): void {
    this.calls.cell(op, result).inc();
    this.callSeconds.cell(op).observe(seconds);
  }

  fannedOut(result: FanoutResultLabel, seconds: number): void {
    this.fanouts.cell(result).inc();
    this.fanoutSeconds.cell().observe(seconds);
  }

  /** @param version undefined while the engine has none, or one that is no number. */
  versionIs(baseUrl: string, version: number | undefined): void {
    if (version === undefined) this.versions.forget('worker', baseUrl);
    else this.versions.cell(baseUrl).set(version);
  }

  controlIs(baseUrl: string, state: 0 | 1 | 2): void {
    this.controls.cell(baseUrl).set(state);
  }

  /** The engine left: so do its series. */
  engineLeft(baseUrl: string): void {
    this.versions.forget('worker', baseUrl);
    this.controls.forget('worker', baseUrl);
  }

  dropped(reason: string, count: number): void {
    this.filtered.cell(reason).inc(count);
  }

  wasUnroutable(): void {
    this.unroutable.cell().inc();
  }

  sawMixedVersions(): void {
    this.mixed.cell().inc();
  }

  versionChangedInFlight(): void {
    this.changesInFlight.cell().inc();
  }
}
