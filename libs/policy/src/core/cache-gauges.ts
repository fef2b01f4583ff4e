import { type GaugeCell, type MetricFamily, type Metrics } from '@smg/plugin-api';

/** Sizes of what one cache_aware instance keeps for a model. */
export interface CacheSizes {
  /** Characters of the text tree, summed over workers. */
  readonly characters: number;
  readonly tokens: number;
  readonly stringTenants: number;
  readonly tokenTenants: number;
  /** Entries of the hash index. */
  readonly placements: number;
}

/** Something that keeps prefixes, by model. */
interface CacheOwner {
  sizes(): Iterable<readonly [model: string, sizes: CacheSizes]>;
}

/** `smg_cache_*`: read at scrape, summed over the instances of a process. */
export class CacheGauges {
  private readonly characters: MetricFamily<GaugeCell>;
  private readonly tokens: MetricFamily<GaugeCell>;
  private readonly tenants: MetricFamily<GaugeCell>;
  private readonly placements: MetricFamily<GaugeCell>;
  private readonly owners = new Set<CacheOwner>();
  private exported = new Set<string>();

  constructor(metrics: Metrics) {
    this.characters = metrics.gauge({
      name: 'smg_cache_tree_chars',
      help: 'Characters in the text trees of cache_aware, summed over workers',
      labels: ['model'],
    });
    this.tokens = metrics.gauge({
      name: 'smg_cache_tree_tokens',
      help: 'Tokens in the token trees of cache_aware, summed over workers',
      labels: ['model'],
    });
    this.tenants = metrics.gauge({
      name: 'smg_cache_tree_tenants',
      help: 'Workers in the trees of cache_aware',
      labels: ['model', 'tree'],
    });
    this.placements = metrics.gauge({
      name: 'smg_cache_placement_entries',
      help: 'Entries in the hash index of cache_aware',
      labels: ['model'],
    });
    metrics.onCollect(() => {
      this.refresh();
    });
  }

  /** Counts what `owner` keeps until the returned function is called. */
  watch(owner: CacheOwner): () => void {
    this.owners.add(owner);
    return () => {
      this.owners.delete(owner);
    };
  }

  private refresh(): void {
    const sums = new Map<string, CacheSizes>();
    for (const owner of this.owners) {
      for (const [model, sizes] of owner.sizes()) sums.set(model, plus(sums.get(model), sizes));
    }
    for (const model of this.exported) if (!sums.has(model)) this.forget(model);
    this.exported = new Set(sums.keys());
    for (const [model, sizes] of sums) {
      this.characters.cell(model).set(sizes.characters);
      this.tokens.cell(model).set(sizes.tokens);
      this.tenants.cell(model, 'string').set(sizes.stringTenants);
      this.tenants.cell(model, 'token').set(sizes.tokenTenants);
      this.placements.cell(model).set(sizes.placements);
    }
  }

  private forget(model: string): void {
    for (const family of [this.characters, this.tokens, this.tenants, this.placements]) {
      family.forget('model', model);
    }
  }
}

function plus(a: CacheSizes | undefined, b: CacheSizes): CacheSizes {
  if (a === undefined) return b;
  return {
    characters: a.characters + b.characters,
    tokens: a.tokens + b.tokens,
    stringTenants: a.stringTenants + b.stringTenants,
    tokenTenants: a.tokenTenants + b.tokenTenants,
    placements: a.placements + b.placements,
  };
}
