import { type Segment } from './prompt';
import { Random, Zipf } from './random';

export type RequestKind = 'chat' | 'rollout' | 'tail';

/** What a client adds to its conversation, and what it gets. */
export interface Turn {
  readonly user: Segment;
  readonly answer: Segment;
  /** Milliseconds between the answer before and this turn. */
  readonly thinkMs: number;
}

/** One client: a conversation, a sample of a rollout group, or a single prompt. */
export interface Flow {
  readonly kind: RequestKind;
  /** Milliseconds from the start of the trace. */
  readonly start: number;
  /** Routing key, where this kind of client sends one. */
  readonly key: string | undefined;
  /** Beginning of every prompt of the flow, history included. */
  readonly beginning: readonly Segment[];
  readonly turns: readonly Turn[];
}

export interface TraceOptions {
  readonly seed: number;
  readonly workers: number;
  readonly seconds: number;
  /** Requests per second and worker. */
  readonly rate: number;
}

/** Shares of requests; together 1. */
const SHARES: Readonly<Record<RequestKind, number>> = { chat: 0.5, rollout: 0.3, tail: 0.2 };
/** System prompts per worker: more than one engine keeps beside its conversations. */
const SYSTEM_PROMPTS = 2;
const SYSTEM_TOKENS = [300, 2_700] as const;
const USER_TOKENS = [20, 220] as const;
const ANSWER_TOKENS = [50, 450] as const;
const MAX_TURNS = 24;
const THINK_MS = 6_000;
/** Samples of one prompt in a rollout group. */
const SAMPLES = 8;
const TEMPLATE_TOKENS = 200;
const PROBLEM_TOKENS = [100, 1_500] as const;
const ROLLOUT_TOKENS = [300, 1_100] as const;
const TAIL_MEDIAN = 1_200;
const TAIL_SIGMA = 1;
const TAIL_MOST = 16_000;
/** What a turn takes of a conversation that began before the trace does. */
const PAST_TURN_MS = THINK_MS + 8_000;

/**
 * Clients of a fleet, by the time they start. Conversations begin under system prompts of Zipf
 * popularity, have a Zipf number of turns, and some are under way when the trace starts. The same
 * options give the same trace.
 */
export function makeTrace(options: TraceOptions): readonly Flow[] {
  return new TraceMaker(options).make();
}

class TraceMaker {
  private readonly random: Random;
  private readonly horizonMs: number;
  private readonly systems: readonly Segment[];
  private readonly popularity: Zipf;
  private readonly lengths = new Zipf(MAX_TURNS, 1);
  private readonly template: Segment;
  private segments = 0;
  private readonly flows: Flow[] = [];

  constructor(private readonly options: TraceOptions) {
    this.random = new Random(options.seed);
    this.horizonMs = options.seconds * 1000;
    const count = SYSTEM_PROMPTS * options.workers;
    this.systems = Array.from({ length: count }, () => this.segment(SYSTEM_TOKENS));
    this.popularity = new Zipf(count, 1);
    this.template = this.segment([TEMPLATE_TOKENS, TEMPLATE_TOKENS]);
  }

  make(): readonly Flow[] {
    const past = MAX_TURNS * PAST_TURN_MS;
    this.each(SHARES.chat / this.lengths.mean, -past, (at, n) => this.chat(at, n));
    this.each(SHARES.rollout / SAMPLES, 0, (at, n) => this.group(at, n));
    this.each(SHARES.tail, 0, (at) => this.tail(at));
    return this.flows.sort((a, b) => a.start - b.start);
  }

  /** Poisson arrivals of `share` of the rate, from `from` to the end of the trace. */
  private each(share: number, from: number, add: (at: number, number: number) => void): void {
    const perSecond = this.options.rate * this.options.workers * share;
    let at = from;
    for (let number = 0; ; number += 1) {
      at += this.random.exponential(1000 / perSecond);
      if (at >= this.horizonMs) return;
      add(at, number);
    }
  }

  private chat(at: number, number: number): void {
    const beginning = [this.systems[this.popularity.draw(this.random)]!];
    const turns = Array.from({ length: this.lengths.draw(this.random) + 1 }, () => ({
      user: this.segment(USER_TOKENS),
      answer: this.segment(ANSWER_TOKENS),
      thinkMs: this.random.exponential(THINK_MS),
    }));
    let start = at;
    while (start < 0) {
      const past = turns.shift();
      if (past === undefined) return;
      beginning.push(past.user, past.answer);
      start += PAST_TURN_MS;
    }
    if (turns.length === 0 || start >= this.horizonMs) return;
    this.flows.push({ kind: 'chat', start, key: `session-${number}`, beginning, turns });
  }

  private group(at: number, number: number): void {
    const user = this.segment(PROBLEM_TOKENS);
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      this.flows.push({
        kind: 'rollout',
        start: at,
        key: `group-${number}`,
        beginning: [this.template],
        turns: [{ user, answer: this.segment(ROLLOUT_TOKENS), thinkMs: 0 }],
      });
    }
  }

  private tail(at: number): void {
    const length = Math.round(this.random.logNormal(TAIL_MEDIAN, TAIL_SIGMA));
    const tokens = Math.min(Math.max(length, 20), TAIL_MOST);
    const user = this.segment([tokens, tokens]);
    const turns = [{ user, answer: this.segment(ANSWER_TOKENS), thinkMs: 0 }];
    this.flows.push({ kind: 'tail', start: at, key: undefined, beginning: [], turns });
  }

  private segment([least, most]: readonly [number, number]): Segment {
    return { id: ++this.segments, tokens: this.random.between(least, most) };
  }
}
