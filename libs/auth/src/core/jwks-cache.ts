import { type Algorithm } from './jwt-token';

/** A key of the issuer, ready to verify. */
export interface VerifyKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly fingerprint: string;
  /** Opaque to the cache. */
  readonly material: unknown;
}

/** The issuer's keys by `kid`. */
export type KeyTable = ReadonlyMap<string, readonly VerifyKey[]>;

/** How a fetch ended; the values of the label `result`. */
export const FETCH_RESULTS = [
  'ok',
  'refused',
  'unreachable',
  'timeout',
  'status',
  'too_large',
  'invalid',
] as const;

export type FetchResult = (typeof FETCH_RESULTS)[number];

/** Why the keys could not be had. Its message is for operators and holds nothing of an answer's body. */
export class JwksError extends Error {
  override readonly name = 'JwksError';
  readonly result: Exclude<FetchResult, 'ok'>;

  constructor(result: Exclude<FetchResult, 'ok'>, message: string) {
    super(message);
    this.result = result;
  }
}

export interface JwksTiming {
  /** Milliseconds after which the keys are fetched again, in the background. */
  readonly ttlMs: number;
  /** Milliseconds between the end of a fetch and the next one a token may cause. */
  readonly cooldownMs: number;
  /** Milliseconds for which known keys are trusted while the issuer cannot be reached. */
  readonly staleMs: number;
}

/** Source of ttl and cooldown: SMG contract 8.3, decision 21. */
export const DEFAULT_JWKS_TIMING: JwksTiming = {
  ttlMs: 3_600_000,
  cooldownMs: 10_000,
  staleMs: 86_400_000,
};

export interface JwksPorts {
  /** @throws JwksError */
  load(previous: KeyTable): Promise<KeyTable>;
  /** Milliseconds. */
  now(): number;
  onFetch(result: FetchResult): void;
  /** Once per outage. */
  onOutage(error: JwksError): void;
  onRecovery(): void;
}

/** Keys of that id; `unknown`: the issuer has none; `unavailable`: nobody can tell any more. */
export type KeyLookup = readonly VerifyKey[] | 'unknown' | 'unavailable';

/**
 * Keeps the issuer's keys. A token whose key is known never waits; one whose key is not causes at most
 * one fetch per cooldown, which everyone who waits shares.
 */
export class JwksCache {
  private table: KeyTable = new Map();
  private loadedAt: number | undefined;
  private endedAt = Number.NEGATIVE_INFINITY;
  private running: Promise<void> | undefined;
  private failure: JwksError | undefined;

  constructor(
    private readonly ports: JwksPorts,
    private readonly timing: JwksTiming = DEFAULT_JWKS_TIMING,
  ) {}

  /** Milliseconds since the keys were fetched; undefined before the first time. */
  get ageMs(): number | undefined {
    return this.loadedAt === undefined ? undefined : this.ports.now() - this.loadedAt;
  }

  lookUp(kid: string): KeyLookup | Promise<KeyLookup> {
    const keys = this.isTrusted ? this.table.get(kid) : undefined;
    if (keys !== undefined) {
      this.refreshIfDue();
      return keys;
    }
    const refresh = this.refreshIfCool();
    return refresh === undefined ? this.settled(kid) : refresh.then(() => this.settled(kid));
  }

  /** In the background, once the keys have reached their age. */
  refreshIfDue(): void {
    if ((this.ageMs ?? 0) >= this.timing.ttlMs) void this.refreshIfCool();
  }

  /**
   * Fetches now, whatever the cooldown: at the start, and when an operator asks.
   * @throws JwksError; the old keys stay.
   */
  async refreshNow(): Promise<void> {
    // A fetch under way may have read the set before the operator changed it.
    if (this.running !== undefined) await this.running;
    await this.refresh();
    if (this.failure !== undefined) throw this.failure;
  }

  private get isTrusted(): boolean {
    const age = this.ageMs;
    return age !== undefined && age <= this.timing.staleMs;
  }

  private settled(kid: string): KeyLookup {
    return this.isTrusted ? (this.table.get(kid) ?? 'unknown') : 'unavailable';
  }

  private refreshIfCool(): Promise<void> | undefined {
    if (this.running !== undefined) return this.running;
    return this.ports.now() - this.endedAt >= this.timing.cooldownMs ? this.refresh() : undefined;
  }

  /** Never rejects. */
  private refresh(): Promise<void> {
    this.running ??= this.attempt().finally(() => {
      this.endedAt = this.ports.now();
      this.running = undefined;
    });
    return this.running;
  }

  private async attempt(): Promise<void> {
    try {
      this.table = await this.ports.load(this.table);
    } catch (error) {
      this.failed(error);
      return;
    }
    this.loadedAt = this.ports.now();
    this.ports.onFetch('ok');
    if (this.failure !== undefined) this.ports.onRecovery();
    this.failure = undefined;
  }

  private failed(error: unknown): void {
    const failure =
      error instanceof JwksError ? error : new JwksError('unreachable', 'the fetch failed');
    const isFirst = this.failure === undefined;
    this.failure = failure;
    this.ports.onFetch(failure.result);
    // Before the first success there is nothing to be out: the start reports it.
    if (isFirst && this.loadedAt !== undefined) this.ports.onOutage(failure);
  }
}
