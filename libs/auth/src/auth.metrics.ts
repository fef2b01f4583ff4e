import { type CounterCell, type MetricFamily, type Metrics, type Plane } from '@smg/plugin-api';
import { type FetchResult } from './core/jwks-cache';
import { type RefusalReason } from './core/refusal-reasons';

/** What auth counts; nothing where nobody collects. */
export class AuthMetrics {
  private readonly refusals: MetricFamily<CounterCell> | undefined;
  private readonly fetches: MetricFamily<CounterCell> | undefined;

  constructor(private readonly metrics: Metrics | undefined) {
    this.refusals = metrics?.counter({
      name: 'smg_auth_refusals_total',
      help: 'Requests refused before their handler, by plane and reason',
      labels: ['plane', 'reason'],
    });
    this.fetches = metrics?.counter({
      name: 'smg_auth_jwks_fetches_total',
      help: "Fetches of the issuer's keys, by how they ended",
      labels: ['result'],
    });
    this.age = metrics?.gauge({
      name: 'smg_auth_jwks_age_seconds',
      help: "Seconds since the issuer's keys were last fetched with success",
    });
  }

  private readonly age;

  refused(plane: Plane, reason: RefusalReason): void {
    this.refusals?.cell(plane, reason).inc();
  }

  fetched(result: FetchResult): void {
    this.fetches?.cell(result).inc();
  }

  /** @param read seconds, asked at every scrape; undefined before the first success. */
  watchAge(read: () => number | undefined): void {
    this.metrics?.onCollect(() => {
      const seconds = read();
      if (seconds !== undefined) this.age?.cell().set(seconds);
    });
  }
}
