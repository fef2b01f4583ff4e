import { type GaugeCell, type MetricFamily, type Metrics } from '@smg/plugin-api';
import { BranchCounter } from './branch-counter';

/** What became of a request's key. */
export type KeyBranch =
  /** A worker of the key served. */
  | 'occupied_hit'
  /** None of its workers may serve now: another was assigned. */
  | 'occupied_miss'
  /** A new key. */
  | 'vacant'
  | 'no_routing_id'
  /** Its worker has as many of its requests as one may have. */
  | 'cap_respill'
  | 'no_healthy_workers';

/** Who holds keys. */
interface KeyHolder {
  readonly size: number;
}

/** Counts of keyed routing; one for all policies and sticky sessions of a process. */
export class KeyMetrics {
  readonly branches: BranchCounter<KeyBranch>;
  readonly sources: BranchCounter<'rid' | 'header'>;
  private readonly entries: MetricFamily<GaugeCell>;
  private readonly holders = new Set<KeyHolder>();
  private wasExported = false;

  constructor(metrics: Metrics) {
    this.branches = new BranchCounter(
      metrics,
      'smg_manual_policy_branch_total',
      'Requests of the manual policy and of sticky sessions, by what became of their key',
    );
    this.sources = new BranchCounter(
      metrics,
      'smg_routing_key_source_total',
      'Sticky requests by where their key came from',
      'source',
    );
    this.entries = metrics.gauge({
      name: 'smg_manual_policy_cache_entries',
      help: 'Keys kept by manual policies and sticky sessions',
    });
    metrics.onCollect(() => {
      this.refresh();
    });
  }

  /** Counts the keys of `holder` until the returned function is called. */
  watch(holder: KeyHolder): () => void {
    this.holders.add(holder);
    return () => {
      this.holders.delete(holder);
    };
  }

  private refresh(): void {
    if (this.holders.size === 0 && !this.wasExported) return;
    this.wasExported = true;
    let total = 0;
    for (const holder of this.holders) total += holder.size;
    this.entries.cell().set(total);
  }
}
