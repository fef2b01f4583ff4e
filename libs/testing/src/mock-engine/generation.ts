import { type EngineState } from './engine-state';
import { type ResolvedOptions } from './mock-engine.options';
import { type RunningGeneration } from './running-generation';
import { sleep } from './sleep';
import { hashText, tokenAt, type Token } from './tokens';

/** Output tokens `[start, end)` were made by this version of the weights. */
export interface VersionSpan {
  readonly version: string;
  readonly start: number;
  end: number;
}

export type FinishType = 'stop' | 'length' | 'abort';

export interface GenerationInput {
  readonly rid: string;
  /** What the text of the answer depends on. */
  readonly prompt: string;
  readonly promptTokens: number;
  /** Limit of the request; undefined when it sets none. */
  readonly maxTokens: number | undefined;
  /** Make exactly `maxTokens` tokens. */
  readonly ignoreEos?: boolean;
  readonly dpRank?: number | undefined;
}

/** One running answer. Tokens are made one by one, so pauses and refits fall between tokens. */
export class Generation implements RunningGeneration {
  readonly rid: string;
  readonly promptTokens: number;
  readonly dpRank: number | undefined;
  readonly tokens: Token[] = [];
  readonly spans: VersionSpan[] = [];
  text = '';
  finish: FinishType | undefined;
  isAdmitted = false;
  private readonly total: number;
  private readonly promptHash: number;
  private readonly reachesLimit: boolean;
  private readonly stopper = new AbortController();

  constructor(
    input: GenerationInput,
    private readonly state: EngineState,
    private readonly options: ResolvedOptions,
  ) {
    this.rid = input.rid;
    this.promptTokens = input.promptTokens;
    this.dpRank = input.dpRank;
    this.promptHash = hashText(input.prompt, options.seed);
    const limit = input.maxTokens ?? options.tokens;
    this.total = input.ignoreEos === true ? limit : Math.min(limit, options.tokens);
    this.reachesLimit = input.maxTokens !== undefined && this.total >= input.maxTokens;
  }

  get isAborted(): boolean {
    return this.stopper.signal.aborted;
  }

  /** Ends it with finish reason `abort`; what was made so far stands. */
  abort(): void {
    this.stopper.abort();
  }

  /**
   * Makes all tokens.
   * @param gone fires when the client left; the generation then ends as aborted.
   * @param onToken called after each token; awaited, so a slow reader slows the engine.
   */
  async run(gone: AbortSignal, onToken?: (token: Token) => Promise<void>): Promise<void> {
    const stop = (): void => {
      this.stopper.abort();
    };
    gone.addEventListener('abort', stop, { once: true });
    if (gone.aborted) stop();
    this.state.running.add(this);
    this.isAdmitted = this.state.mayGenerate;
    try {
      await sleep(this.options.latencyMs, this.stopper.signal);
      while (this.tokens.length < this.total) {
        if (this.tokens.length > 0) {
          await sleep(this.options.tokenLatencyMs, this.stopper.signal);
        }
        if (!this.state.mayRun(this)) {
          await this.state.until(() => this.state.mayRun(this), this.stopper.signal);
        }
        this.isAdmitted = true;
        if (this.isAborted) break;
        const token = this.next();
        if (onToken !== undefined) await onToken(token);
      }
      this.finish = this.isAborted && this.tokens.length < this.total ? 'abort' : this.endOfText();
    } finally {
      gone.removeEventListener('abort', stop);
      this.state.running.delete(this);
      this.state.wake();
    }
  }

  private endOfText(): FinishType {
    return this.reachesLimit ? 'length' : 'stop';
  }

  private next(): Token {
    const index = this.tokens.length;
    const token = tokenAt(this.promptHash, index);
    this.tokens.push(token);
    this.text += token.text;
    const version = this.state.weightVersion;
    const last = this.spans.at(-1);
    if (last?.version === version) last.end = index + 1;
    else this.spans.push({ version, start: index, end: index + 1 });
    return token;
  }
}
