import { type HistoryStore } from './core/history-store';
import { MemoryStore } from './core/memory.store';
import { type HistoryOptions } from './history.options';
import type * as Postgres from './postgres.store';
import type * as RedisDriver from './redis.store';

/** What the store in this process may hold. */
export const MEMORY_LIMITS = Object.freeze({ entries: 20_000, bytes: 128 * 1024 * 1024 });

/** Told of the connections a store has. */
export interface StoreListener {
  readonly onConnections: (count: number) => void;
  /** A connection broke; there will be another. The message has no credentials. */
  readonly onFault: (message: string) => void;
}

/** The store of a backend, not opened yet. The driver of a backend nobody chose is not read from disk. */
export function makeStore(
  options: HistoryOptions & { readonly backend: Exclude<HistoryOptions['backend'], 'none'> },
  listener: StoreListener,
): HistoryStore {
  switch (options.backend) {
    case 'memory':
      return new MemoryStore(MEMORY_LIMITS);
    case 'postgres': {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would be read in every process
      const { PostgresStore } = require('./postgres.store') as typeof Postgres;
      return new PostgresStore({
        url: required(options.postgresDbUrl, 'postgres'),
        maxConnections: options.postgresPoolMaxSize,
        ...listener,
      });
    }
    case 'redis': {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- likewise
      const { RedisStore } = require('./redis.store') as typeof RedisDriver;
      return new RedisStore({
        url: required(options.redisUrl, 'redis'),
        maxConnections: options.redisPoolMaxSize,
        retentionDays: options.redisRetentionDays,
        ...listener,
      });
    }
  }
}

function required(url: string | undefined, backend: string): string {
  if (url === undefined) throw new Error(`the history backend ${backend} needs a URL`);
  return url;
}
