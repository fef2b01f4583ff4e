/** What one data-parallel rank says of itself; a figure it does not give is undefined. */
export interface EngineRank {
  /** 0-based. */
  readonly rank: number;
  readonly running: number;
  readonly waiting: number;
  /** Prompt tokens that wait and are in no cache. */
  readonly waitingUncachedTokens: number;
  readonly usedTokens: number | undefined;
  /** KV-cache use, 0..1. */
  readonly tokenUsage: number | undefined;
  /** Tokens per second. */
  readonly throughput: number | undefined;
  /** 0..1 */
  readonly cacheHitRate: number | undefined;
  /** Of a prefill or decode engine that tells. */
  readonly transfer: RankTransfer | undefined;
}

/** Prefill/decode section of a rank's report. */
export interface RankTransfer {
  readonly role: 'prefill' | 'decode';
  readonly latencyMs: number | undefined;
  /** GB per second. */
  readonly speed: number | undefined;
  /** Requests before or in their transfer, seen from the prefill side. */
  readonly prefillQueue: number | undefined;
  /** The same, seen from the decode side. */
  readonly decodeQueue: number | undefined;
}

/** An engine's answer to `/v1/loads`, relayed as it is. Shape: SMG contract 3.9. */
export interface LoadDocument {
  readonly loads?: unknown;
}

type Members = Readonly<Record<string, unknown>>;

/** Far above any deployment; keeps a wrong answer from filling memory. */
const MAX_RANKS = 4096;
/** Sections of newer and of older builds. */
const TRANSFER_SECTIONS = ['disaggregation', 'disagg'] as const;

/** @returns undefined when the answer is not a load document. */
export function readLoadDocument(json: unknown): readonly EngineRank[] | undefined {
  const loads = membersOf(json)?.['loads'];
  if (!Array.isArray(loads) || loads.length === 0 || loads.length > MAX_RANKS) return undefined;
  const ranks: EngineRank[] = [];
  for (const [index, load] of loads.entries()) {
    const rank = readRank(membersOf(load), index);
    if (rank === undefined) return undefined;
    ranks.push(rank);
  }
  return ranks;
}

function readRank(load: Members | undefined, index: number): EngineRank | undefined {
  if (load === undefined) return undefined;
  const running = amount(load['num_running_reqs']);
  const waiting = amount(load['num_waiting_reqs']);
  const usedTokens = amount(load['num_used_tokens']);
  const tokenUsage = share(load['token_usage']);
  // One familiar figure is enough: builds differ in what they give.
  if ((running ?? waiting ?? usedTokens ?? tokenUsage) === undefined) return undefined;
  return {
    rank: rankOf(load['dp_rank']) ?? index,
    running: running ?? 0,
    waiting: waiting ?? 0,
    waitingUncachedTokens: amount(load['num_waiting_uncached_tokens']) ?? 0,
    usedTokens,
    tokenUsage,
    throughput: amount(load['gen_throughput']),
    cacheHitRate: share(load['cache_hit_rate']),
    transfer: readTransfer(load),
  };
}

function readTransfer(load: Members): RankTransfer | undefined {
  for (const name of TRANSFER_SECTIONS) {
    const section = membersOf(load[name]);
    const role = section?.['mode'];
    if (section === undefined || (role !== 'prefill' && role !== 'decode')) continue;
    // The queue before a transfer has two names, by the age of the engine.
    const arriving =
      section['prefill_bootstrap_queue_reqs'] ?? section['prefill_prealloc_queue_reqs'];
    return {
      role,
      latencyMs: amount(section['kv_transfer_latency_ms']),
      speed: amount(section['kv_transfer_speed_gb_s']),
      prefillQueue: sumOf([arriving, section['prefill_inflight_queue_reqs']]),
      decodeQueue: sumOf([
        section['decode_prealloc_queue_reqs'],
        section['decode_transfer_queue_reqs'],
        section['decode_retracted_queue_reqs'],
      ]),
    };
  }
  return undefined;
}

function sumOf(values: readonly unknown[]): number | undefined {
  let sum: number | undefined;
  for (const value of values) {
    const known = amount(value);
    if (known !== undefined) sum = (sum ?? 0) + known;
  }
  return sum;
}

function membersOf(value: unknown): Members | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Members) : undefined;
}

/** A finite number that is not negative. */
export function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** The same, at most 1. */
export function share(value: unknown): number | undefined {
  const known = amount(value);
  return known === undefined ? undefined : Math.min(1, known);
}

const rankOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) ? amount(value) : undefined;
