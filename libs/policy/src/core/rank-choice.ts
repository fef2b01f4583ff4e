import { type SelectionContext, type WorkerLoadReport, type WorkerView } from '@smg/plugin-api';

// dp_min_token: the data-parallel rank with the fewest tokens. Source: SMG contract,
// --dp-minimum-tokens-scheduler.

/** Tokens a word stands for where nobody counted. */
const TOKENS_PER_WORD = 1.3;
const SPACE = 0x20;

/** Tokens sent to each rank since the last report, by rank. */
export type SentTokens = ReadonlyMap<number, number>;

/**
 * The rank with the fewest tokens: those it reported, and those sent since.
 * @returns the lowest rank of those alike; undefined when no rank reports its tokens.
 */
export function chooseRank(report: WorkerLoadReport, cached: SentTokens): number | undefined {
  let best: number | undefined;
  let least = Infinity;
  for (const { rank, usedTokens } of report.ranks) {
    if (usedTokens === undefined) continue;
    const tokens = usedTokens + (cached.get(rank) ?? 0);
    if (tokens < least || (tokens === least && best !== undefined && rank < best)) {
      best = rank;
      least = tokens;
    }
  }
  return best;
}

/** Tokens a request is worth: its ids, else 1.3 per word; at least 1. */
export function estimateTokens(context: SelectionContext): number {
  const known = context.routingTokens()?.length ?? 0;
  if (known > 0) return known;
  const text = context.routingText();
  return text === undefined ? 1 : Math.max(1, Math.ceil(wordsIn(text) * TOKENS_PER_WORD));
}

/** Runs of bytes above the space. */
function wordsIn(text: Buffer): number {
  let words = 0;
  let isInside = false;
  for (const byte of text) {
    const isWord = byte > SPACE;
    if (isWord && !isInside) words += 1;
    isInside = isWord;
  }
  return words;
}

interface Sent {
  sequence: number;
  readonly tokens: Map<number, number>;
}

/** Chooses ranks of engines, and remembers what it sent them since they last reported. */
export class RankBalancer {
  private readonly sent = new WeakMap<WorkerView, Sent>();

  /** @returns undefined when the report names no rank with its tokens. */
  choose(
    worker: WorkerView,
    report: WorkerLoadReport,
    context: SelectionContext,
  ): number | undefined {
    let sent = this.sent.get(worker);
    if (sent?.sequence !== report.sequence) {
      sent = { sequence: report.sequence, tokens: new Map() };
      this.sent.set(worker, sent);
    }
    const rank = chooseRank(report, sent.tokens);
    if (rank === undefined) return undefined;
    sent.tokens.set(rank, (sent.tokens.get(rank) ?? 0) + estimateTokens(context));
    return rank;
  }
}
