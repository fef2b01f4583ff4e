import { amount, share, type EngineRank } from './engine-load';
import { linesOf, readExpositionLine, type Sample } from './exposition-text';

type Figure = 'running' | 'waiting' | 'tokenUsage' | 'throughput' | 'cacheHitRate';

const SGLANG: readonly (readonly [string, Figure])[] = [
  ['num_running_reqs', 'running'],
  ['num_queue_reqs', 'waiting'],
  ['token_usage', 'tokenUsage'],
  ['gen_throughput', 'throughput'],
  ['cache_hit_rate', 'cacheHitRate'],
];

/** Names read, as each engine writes them. Source: SMG contract 3.9. */
const FIGURES: ReadonlyMap<string, Figure> = new Map<string, Figure>([
  ...SGLANG.map(([name, figure]): [string, Figure] => [`sglang:${name}`, figure]),
  ...SGLANG.map(([name, figure]): [string, Figure] => [`sglang_${name}`, figure]),
  ['vllm:num_requests_running', 'running'],
  ['vllm:num_requests_waiting', 'waiting'],
  ['vllm:gpu_cache_usage_perc', 'tokenUsage'],
  ['vllm:kv_cache_usage_perc', 'tokenUsage'],
]);

/** Labels that hold a data-parallel rank. */
const RANK_LABELS = ['dp_rank', 'engine'];
const MAX_RANKS = 4096;

type Figures = Partial<Record<Figure, number>>;

/**
 * Loads out of an engine's `/metrics`, for engines without `/v1/loads`. Several samples of one rank
 * are the same figure seen from several processes, or a total and its parts: the highest is taken.
 * @returns undefined when the text holds no request counts. Lines that are no samples are passed over.
 */
export function loadsOfMetrics(text: string): readonly EngineRank[] | undefined {
  const ranks = new Map<number, Figures>();
  let isKnown = false;
  for (const line of linesOf(text)) {
    if (line.startsWith('#')) continue;
    const end = line.search(/[{\s]/);
    const figure = FIGURES.get(end === -1 ? line : line.slice(0, end));
    if (figure === undefined) continue;
    const read = readExpositionLine(line);
    if (read?.kind !== 'sample' || !note(ranks, read.sample, figure)) continue;
    if (figure === 'running' || figure === 'waiting') isKnown = true;
  }
  return isKnown ? [...ranks].sort(([a], [b]) => a - b).map(toRank) : undefined;
}

function note(ranks: Map<number, Figures>, sample: Sample, figure: Figure): boolean {
  const value = figure === 'tokenUsage' || figure === 'cacheHitRate' ? share : amount;
  const known = value(sample.value);
  if (known === undefined) return false;
  const rank = rankOf(sample);
  let figures = ranks.get(rank);
  if (figures === undefined) {
    if (ranks.size >= MAX_RANKS) return false;
    figures = {};
    ranks.set(rank, figures);
  }
  figures[figure] = Math.max(figures[figure] ?? 0, known);
  return true;
}

function rankOf({ labels }: Sample): number {
  for (const wanted of RANK_LABELS) {
    const text = labels.find(([name]) => name === wanted)?.[1];
    if (text !== undefined && /^\d{1,6}$/.test(text)) return Number(text);
  }
  return 0;
}

const toRank = ([rank, figures]: [number, Figures]): EngineRank => ({
  rank,
  running: figures.running ?? 0,
  waiting: figures.waiting ?? 0,
  waitingUncachedTokens: 0,
  usedTokens: undefined,
  tokenUsage: figures.tokenUsage,
  throughput: figures.throughput,
  cacheHitRate: figures.cacheHitRate,
  transfer: undefined,
});

/** The document such an engine would have given; shown by GET `/get_loads`. */
export function documentOf(ranks: readonly EngineRank[]): { readonly loads: readonly object[] } {
  return {
    loads: ranks.map((it) => ({
      dp_rank: it.rank,
      num_running_reqs: it.running,
      num_waiting_reqs: it.waiting,
      num_total_reqs: it.running + it.waiting,
      ...(it.tokenUsage === undefined ? {} : { token_usage: it.tokenUsage }),
      ...(it.throughput === undefined ? {} : { gen_throughput: it.throughput }),
      ...(it.cacheHitRate === undefined ? {} : { cache_hit_rate: it.cacheHitRate }),
    })),
  };
}
