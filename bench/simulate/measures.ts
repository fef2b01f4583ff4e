import { type RequestKind } from './trace';
import { meanOf, quantile, sortedCopy } from './statistics';

/** What clients and engines saw; the same in every run with the same options. */
export interface Outcome {
  /** Requests of the measured part. */
  readonly requests: number;
  /** Selections that gave nobody. */
  readonly refused: number;
  /** Share of prompt tokens that engines found in their KV cache, 0..1. */
  readonly hitRate: number;
  readonly hitRates: Readonly<Record<RequestKind, number>>;
  /** Most loaded worker ÷ mean, requests in flight; mean over samples. */
  readonly maxOverMean: number;
  /** The worker at the 99th percentile ÷ mean. */
  readonly p99OverMean: number;
  /** Milliseconds from arrival to the first token. */
  readonly ttftMean: number;
  readonly ttftP50: number;
  readonly ttftP99: number;
  /** Hit rate of each step of the run, warm-up included; null where nothing was sent. */
  readonly timeline: readonly (number | null)[];
}

/** Seconds of a step of {@link Outcome.timeline}. */
export const TIMELINE_STEP = 5;

class Share {
  private hits = 0;
  private total = 0;

  add(hits: number, total: number): void {
    this.hits += hits;
    this.total += total;
  }

  get value(): number {
    return this.hits / this.total;
  }
}

/** Collects what happens in one run; what happens before `fromMs` only shows in the timeline. */
export class Measures {
  refused = 0;
  private readonly ttfts: number[] = [];
  private readonly all = new Share();
  private readonly kinds: Record<RequestKind, Share> = {
    chat: new Share(),
    rollout: new Share(),
    tail: new Share(),
  };
  private readonly steps: Share[] = [];
  private readonly maxima: number[] = [];
  private readonly tails: number[] = [];

  constructor(
    private readonly fromMs: number,
    private readonly untilMs: number,
  ) {}

  started(kind: RequestKind, arrived: number, now: number, [hits, total]: [number, number]): void {
    const step = Math.floor(now / 1000 / TIMELINE_STEP);
    if (now < this.untilMs) (this.steps[step] ??= new Share()).add(hits, total);
    if (!this.isMeasured(arrived)) return;
    this.all.add(hits, total);
    this.kinds[kind].add(hits, total);
  }

  firstToken(arrived: number, now: number): void {
    if (this.isMeasured(arrived)) this.ttfts.push(now - arrived);
  }

  /** @param loads of every worker at this moment. */
  sample(loads: readonly number[], now: number): void {
    const mean = meanOf(loads);
    if (!this.isMeasured(now) || mean === 0) return;
    const sorted = sortedCopy(loads);
    this.maxima.push((sorted.at(-1) ?? 0) / mean);
    this.tails.push(quantile(sorted, 0.99) / mean);
  }

  outcome(): Outcome {
    const ttfts = sortedCopy(this.ttfts);
    const { chat, rollout, tail } = this.kinds;
    return {
      requests: ttfts.length,
      refused: this.refused,
      hitRate: this.all.value,
      hitRates: { chat: chat.value, rollout: rollout.value, tail: tail.value },
      maxOverMean: meanOf(this.maxima),
      p99OverMean: meanOf(this.tails),
      ttftMean: meanOf(ttfts),
      ttftP50: quantile(ttfts, 0.5),
      ttftP99: quantile(ttfts, 0.99),
      timeline: Array.from(this.steps, (step) => (step as Share | undefined)?.value ?? null),
    };
  }

  private isMeasured(at: number): boolean {
    return at >= this.fromMs && at < this.untilMs;
  }
}
