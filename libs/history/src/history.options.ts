/** Service token of {@link HistoryOptions}. */
export const HISTORY_OPTIONS = 'smg:history-options';

export type HistoryBackend = 'memory' | 'none' | 'postgres' | 'redis';

export interface HistoryOptions {
  readonly backend: HistoryBackend;
  /** `postgres://…`; a secret. Required with `postgres`. */
  readonly postgresDbUrl?: string | undefined;
  /** Connections, >= 1. */
  readonly postgresPoolMaxSize: number;
  /** `redis://…` or `rediss://…`; a secret. Required with `redis`. */
  readonly redisUrl?: string | undefined;
  /** Connections, >= 1. */
  readonly redisPoolMaxSize: number;
  /** Days an entry is kept; below 0 for ever. */
  readonly redisRetentionDays: number;
}
